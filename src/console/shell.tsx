import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { description, pendingActions, pendingActionsMore, serverHealth } from "./live/server-state.js";
import { Icon, type IconName } from "./parts/icon.js";
import { Keys, openKeys } from "./parts/keys.js";
import { openPalette } from "./parts/palette.js";
import { hrefOf, NO_FILTER, type Route, route } from "./route.js";
import { nextTheme, theme } from "./theme.js";

const START: Route = { view: "start", providerId: "", conversationId: "" };

/** What is around every view: where one can go, and how the server is. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  const main = useRef<HTMLElement>(null);
  const { view } = route.value;
  const first = useRef(true);
  // Who moves to another view by keyboard or ear goes on reading there.
  useEffect(() => {
    if (first.current) first.current = false;
    else main.current?.focus({ preventScroll: true });
  }, [view]);
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <nav class="side" aria-label="Main">
        <a class="brand" href={hrefOf({ view: "executions", filter: NO_FILTER })}>
          <Mark />
          <span>Harness</span>
        </a>
        <a class="button primary start" href={hrefOf(START)} aria-current={view === "start" ? "page" : undefined}>
          <Icon name="plus" />
          <span>Start</span>
        </a>
        <ul>
          <Place icon="executions" name="Executions" to={{ view: "executions", filter: NO_FILTER }} also="execution" />
          <Place icon="inbox" name="Inbox" to={{ view: "inbox", closed: false }} count={pendingActions.value} />
          <Place icon="providers" name="Providers" to={{ view: "providers" }} />
          <Place icon="runtime" name="Runtime" to={{ view: "runtime" }} />
        </ul>
        <div class="foot">
          <button type="button" class="quiet" onClick={openPalette}>
            <Icon name="search" />
            <span>Commands</span>
            <Keys keys="mod+k" />
          </button>
          <div class="tools">
            <button type="button" class="quiet icon-only" onClick={openKeys} aria-label="Show the keys" title="Keys">
              <Icon name="keyboard" />
            </button>
            <button
              type="button"
              class="quiet icon-only"
              onClick={nextTheme}
              aria-label={`Theme: ${theme.value}. Change it`}
              title={`Theme: ${theme.value}`}
            >
              <Icon name="theme" />
            </button>
            <HealthDot />
          </div>
        </div>
      </nav>
      <main ref={main} id="main" tabIndex={-1} class={`view view-${view}`}>
        <HealthBanner view={view} />
        {children}
      </main>
    </div>
  );
}

function Place({
  icon,
  name,
  to,
  also,
  count = 0,
}: {
  readonly icon: IconName;
  readonly name: string;
  readonly to: Route;
  readonly also?: Route["view"];
  readonly count?: number;
}) {
  const { view } = route.value;
  const here = view === to.view || view === also;
  return (
    <li>
      <a class="place" href={hrefOf(to)} aria-current={here ? "page" : undefined}>
        <Icon name={icon} />
        <span>{name}</span>
        {count === 0 ? null : (
          <span class="count">
            {count}
            {pendingActionsMore.value ? "+" : ""}
            <span class="sr-only"> waiting</span>
          </span>
        )}
      </a>
    </li>
  );
}

function HealthDot() {
  const state = serverHealth.value;
  const { name = "", version = "" } = description.value ?? {};
  const words = { unknown: "Asking", serving: "Serving", draining: "Draining", unreachable: "Unreachable" };
  return (
    <a class={`health ${state}`} href={hrefOf({ view: "runtime" })} title={`${name} ${version}`.trim()}>
      <span class="dot" aria-hidden="true" />
      <span>{words[state]}</span>
    </a>
  );
}

/** Says that the server does not answer, or takes no work, where no stream of the view's own says so. */
function HealthBanner({ view }: { readonly view: Route["view"] }) {
  const state = serverHealth.value;
  if (view === "executions" || view === "execution" || view === "inbox") return null;
  if (state !== "unreachable" && state !== "draining") return null;
  const text =
    state === "draining"
      ? "The server is shutting down and takes no new work."
      : "The server does not answer. What is shown is from before; it is asked again by itself.";
  return (
    <div class="banner attention top" role="status">
      <Icon name="bang" />
      <span>{text}</span>
    </div>
  );
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M8 7v18M24 7v18M8 16h16" />
      <circle cx="16" cy="16" r="4.5" />
    </svg>
  );
}
