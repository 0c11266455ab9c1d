import { computed, type ReadonlySignal, signal } from "@preact/signals";

/** Which executions a list shows. Empty strings and no states filter nothing. */
export interface ExecutionFilter {
  readonly group: StateGroup;
  readonly providerId: string;
  /** `name=value` pairs, separated by commas, as typed. */
  readonly labels: string;
  readonly conversationId: string;
}

/** The states that are chosen together. */
export type StateGroup = "all" | "active" | "waiting" | "succeeded" | "failed" | "cancelled";
export const STATE_GROUPS: readonly StateGroup[] = ["all", "active", "waiting", "succeeded", "failed", "cancelled"];

/** The ways to look at an execution. */
export type ExecutionTab = "timeline" | "events" | "details";
export const EXECUTION_TABS: readonly ExecutionTab[] = ["timeline", "events", "details"];

/** What the page shows; it is all in the address, so that it can be linked to and gone back to. */
export type Route =
  | { readonly view: "executions"; readonly filter: ExecutionFilter }
  | { readonly view: "execution"; readonly id: string; readonly tab: ExecutionTab; readonly sequence: number }
  | { readonly view: "inbox"; readonly closed: boolean }
  | { readonly view: "start"; readonly providerId: string; readonly conversationId: string }
  | { readonly view: "providers" }
  | { readonly view: "runtime" };

export const NO_FILTER: ExecutionFilter = { group: "all", providerId: "", labels: "", conversationId: "" };

/** Reads the part of an address from `#` on. Anything unknown is the list of executions. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", id = ""] = path.split("/").map(decode);
  const text = new URLSearchParams(query);
  const get = (name: string): string => text.get(name) ?? "";
  switch (view) {
    case "executions":
      return id === "" ? { view, filter: filterOf(get) } : executionRoute(id, get);
    case "inbox":
      return { view, closed: get("show") === "closed" };
    case "start":
      return { view, providerId: get("provider"), conversationId: get("conversation") };
    case "providers":
    case "runtime":
      return { view };
    default:
      return { view: "executions", filter: NO_FILTER };
  }
}

/** The address of a route, from `#` on. {@link parseRoute} reads it back. */
export function hrefOf(route: Route): string {
  switch (route.view) {
    case "executions": {
      const { group, providerId, labels, conversationId } = route.filter;
      const state = group === "all" ? "" : group;
      return `#/executions${queryOf({ state, provider: providerId, labels, conversation: conversationId })}`;
    }
    case "execution": {
      const tab = route.tab === "timeline" ? "" : route.tab;
      const sequence = route.sequence > 0 ? String(route.sequence) : "";
      return `#/executions/${encodeURIComponent(route.id)}${queryOf({ tab, sequence })}`;
    }
    case "inbox":
      return `#/inbox${queryOf({ show: route.closed ? "closed" : "" })}`;
    case "start":
      return `#/start${queryOf({ provider: route.providerId, conversation: route.conversationId })}`;
    default:
      return `#/${route.view}`;
  }
}

/** The address of an execution's timeline. */
export function executionHref(id: string, tab: ExecutionTab = "timeline", sequence = 0): string {
  return hrefOf({ view: "execution", id, tab, sequence });
}

function filterOf(get: (name: string) => string): ExecutionFilter {
  const group = STATE_GROUPS.find((name) => name === get("state")) ?? "all";
  return { group, providerId: get("provider"), labels: get("labels"), conversationId: get("conversation") };
}

function executionRoute(id: string, get: (name: string) => string): Route {
  const tab = EXECUTION_TABS.find((name) => name === get("tab")) ?? "timeline";
  const sequence = Number.parseInt(get("sequence"), 10);
  return { view: "execution", id, tab, sequence: Number.isSafeInteger(sequence) && sequence > 0 ? sequence : 0 };
}

function queryOf(parameters: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "")).toString();
  return text === "" ? "" : `?${text}`;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const hash = signal("");
const again = signal(0);

/** What the page shows now. */
export const route: ReadonlySignal<Route> = computed(() => parseRoute(hash.value));

/** Counts how often somebody went where they already were. */
export const visits: ReadonlySignal<number> = again;

/** Begins to follow the address. */
export function followAddress(): void {
  const read = (): void => {
    hash.value = location.hash;
  };
  addEventListener("hashchange", read);
  read();
}

/** Shows something else. `replace` leaves no step to go back to. */
export function goTo(to: Route, { replace = false } = {}): void {
  if (hrefOf(to) === location.hash) again.value++;
  else if (replace) {
    history.replaceState(undefined, "", hrefOf(to));
    hash.value = location.hash;
  } else location.hash = hrefOf(to);
}
