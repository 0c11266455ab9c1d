import {
  ActionKind,
  type ActionRequest,
  ActionRequestSchema,
  ActionState,
} from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import {
  type Provider,
  ProviderSchema,
  SupportLevel,
  Topology,
} from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { parseEnum } from "../arguments.js";
import { CliError, EXIT } from "../cli-error.js";
import { type ClientOptions, openClients } from "../client-options.js";
import { readPages } from "../pages.js";
import { printList } from "../terminal/print.js";
import { oneLine } from "../terminal/printable.js";
import { paint } from "../terminal/style.js";
import { pairs, table } from "../terminal/table.js";
import { timeText } from "../terminal/time-text.js";

export interface ActionsOptions extends ClientOptions {
  readonly execution?: string;
  readonly provider?: string;
  readonly state?: readonly string[];
}

/** Prints the actions that wait for an answer, newest first. */
export async function actions(options: ActionsOptions): Promise<number> {
  const { eager } = await openClients(options);
  const states = parseEnum<ActionState>("--state", ActionState, options.state ?? []);
  const filter = { states, executionId: options.execution ?? "", providerId: options.provider ?? "" };
  const found = await readPages(Number.POSITIVE_INFINITY, async (page) => {
    const { actions: items, nextPageToken } = await eager.actions.listActions({ ...filter, ...page });
    return { items, nextPageToken };
  });
  printList(ActionRequestSchema, found, options.json, () => (found.length === 0 ? "no actions\n" : actionsText(found)));
  return EXIT.ok;
}

function actionsText(found: readonly ActionRequest[]): string {
  const rows = found.map(({ id, executionId, kind, state, createTime, expireTime, title }) => {
    const facts = [ActionKind[kind], ActionState[state], timeText(createTime), timeText(expireTime)];
    return [oneLine(executionId), oneLine(id), ...facts, oneLine(title, 60)];
  });
  return table(["EXECUTION", "ACTION", "KIND", "STATE", "CREATED", "EXPIRES", "TITLE"], rows);
}

/** Prints every provider, or one with what it can do. */
export async function providers(providerId: string | undefined, options: ClientOptions): Promise<number> {
  const { eager } = await openClients(options);
  if (providerId === undefined) {
    const { providers: found } = await eager.runtime.listProviders({ pageSize: 1_000 });
    printList(ProviderSchema, found, options.json, () => providersText(found));
    return EXIT.ok;
  }
  const { provider } = await eager.runtime.getProvider({ providerId });
  if (provider === undefined) throw new CliError("the server answered with no provider");
  printList(ProviderSchema, [provider], options.json, () => providerText(provider));
  return EXIT.ok;
}

function providersText(found: readonly Provider[]): string {
  const rows = found.map((provider) => [
    oneLine(provider.manifest?.id ?? ""),
    oneLine(provider.manifest?.version ?? ""),
    topologiesOf(provider),
    String(provider.activeExecutions),
    availabilityOf(provider),
  ]);
  return table(["ID", "VERSION", "RUNS", "ACTIVE", "AVAILABLE"], rows);
}

function providerText(provider: Provider): string {
  const { manifest, conformance } = provider;
  const measured = conformance?.measuredLevels ?? {};
  const levels = Object.entries(manifest?.capabilities ?? {})
    .sort()
    .map(([name, level]) => {
      const seen = measured[name];
      return [oneLine(name), SupportLevel[level], seen === undefined ? "" : `measured ${SupportLevel[seen]}`];
    });
  const facts = pairs({
    id: oneLine(manifest?.id ?? ""),
    name: oneLine(manifest?.name ?? ""),
    version: oneLine(manifest?.version ?? ""),
    runs: topologiesOf(provider),
    available: availabilityOf(provider),
    active: `${provider.activeExecutions}${provider.capacity === undefined ? "" : ` of ${provider.capacity}`}`,
    conformance:
      conformance && `${conformance.passed} passed, ${conformance.failed} failed, ${timeText(conformance.measureTime)}`,
  });
  return `${facts}\n${table(["CAPABILITY", "LEVEL", ""], levels)}`;
}

function topologiesOf({ manifest }: Provider): string {
  return (manifest?.topologies ?? []).map((topology) => Topology[topology].toLowerCase()).join(", ");
}

function availabilityOf({ available, unavailableReason }: Provider): string {
  return available ? paint("green", "yes") : paint("red", `no: ${oneLine(unavailableReason, 200)}`);
}
