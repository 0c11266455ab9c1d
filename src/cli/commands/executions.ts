import { toJson } from "@bufbuild/protobuf";
import { durationFromMs, ValueSchema } from "@bufbuild/protobuf/wkt";
import { EventSchema } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import { type Execution, ExecutionSchema, ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { HarnessClient } from "../../client/client.js";
import { isTerminal } from "../../client/cursor.js";
import { isRetryable, toRpcError } from "../../client/errors.js";
import { followFrames } from "../../client/follow.js";
import { parseCount, parseDurationMs, parseEnum } from "../arguments.js";
import { CliError, EXIT } from "../cli-error.js";
import { type ClientOptions, openClients } from "../client-options.js";
import { readPages } from "../pages.js";
import { rpcErrorLine } from "../rpc-error-line.js";
import { endLine, exitCodeOf, whyOf } from "../terminal/ending.js";
import { eventLine } from "../terminal/event-line.js";
import { createOutages } from "../terminal/outages.js";
import { printJson, printList } from "../terminal/print.js";
import { oneLine, printable } from "../terminal/printable.js";
import { stateText } from "../terminal/style.js";
import { pairs, table } from "../terminal/table.js";
import { spanText, timeText } from "../terminal/time-text.js";

export interface WatchOptions extends ClientOptions {
  readonly after?: string;
  readonly types?: readonly string[];
}

/** Prints an execution's events as they come, to the end. */
export async function watch(executionId: string, options: WatchOptions): Promise<number> {
  const afterSequence = parseCount("--after", options.after ?? "0");
  const { eager, patient } = await openClients(options);
  await eager.executions.getExecution({ executionId });
  const eventTypes = options.types ?? [];
  const outages = createOutages((text) => process.stderr.write(`${text}\n`));
  const onRetry = outages.failed;
  for await (const { events } of followFrames(patient, { executionId, afterSequence, eventTypes, onRetry })) {
    outages.heard();
    for (const event of events) {
      if (options.json) printJson(EventSchema, event);
      else process.stdout.write(`${eventLine(event)}\n`);
    }
  }
  return EXIT.ok;
}

/** Prints one execution. */
export async function get(executionId: string, options: ClientOptions): Promise<number> {
  const { eager } = await openClients(options);
  const execution = mustHave((await eager.executions.getExecution({ executionId })).execution);
  if (options.json) printJson(ExecutionSchema, execution);
  else process.stdout.write(executionText(execution));
  return EXIT.ok;
}

export interface ListOptions extends ClientOptions {
  readonly state?: readonly string[];
  readonly provider?: string;
  readonly conversation?: string;
  readonly label?: Record<string, string>;
  readonly limit: string;
}

/** Prints executions, newest first. */
export async function list(options: ListOptions): Promise<number> {
  const { eager } = await openClients(options);
  const filter = {
    providerId: options.provider ?? "",
    conversationId: options.conversation ?? "",
    labels: options.label ?? {},
    states: parseEnum<ExecutionState>("--state", ExecutionState, options.state ?? []),
  };
  const found = await readPages(parseCount("--limit", options.limit, 1), async (page) => {
    const { executions, nextPageToken } = await eager.executions.listExecutions({ ...filter, ...page });
    return { items: executions, nextPageToken };
  });
  printList(ExecutionSchema, found, options.json, () => (found.length === 0 ? "no executions\n" : listText(found)));
  return EXIT.ok;
}

export interface WaitOptions extends ClientOptions {
  readonly timeout?: string;
}

/** How long one call waits. */
const LONGEST_WAIT_MS = 60_000;
/** How long a runtime may be away: a drain of 30 s, and time to start again. */
const AWAY_MS = 60_000;
/** How much later than the limit the server's own answer may come. */
const ANSWER_MS = 500;

/** Waits until an execution is over, prints its output, and resolves with the number that tells how it ended. */
export async function wait(executionId: string, options: WaitOptions): Promise<number> {
  const limitMs =
    options.timeout === undefined ? Number.POSITIVE_INFINITY : parseDurationMs("--timeout", options.timeout);
  const execution = await untilOver(executionId, options, limitMs);
  if (options.json) printJson(ExecutionSchema, execution);
  else {
    if (execution.finalOutput) process.stdout.write(`${shownOutput(execution.finalOutput)}\n`);
    process.stderr.write(`${endLine(execution)}\n`);
  }
  return exitCodeOf(execution);
}

/** On a terminal somebody else's text must not control it; a file or a program gets it as it is. */
function shownOutput(output: string): string {
  return (process.stdout.isTTY ? printable(output) : output).replace(/\n$/, "");
}

/** Resolves once it is over; ends the program with 4 where that could not be learned. */
async function untilOver(executionId: string, options: WaitOptions, limitMs: number): Promise<Execution> {
  const deadline = performance.now() + limitMs;
  const { eager, patient } = await openClients(options, { callGiveUpMs: AWAY_MS });
  let state = ExecutionState.UNSPECIFIED;
  const overdue = (): CliError =>
    new CliError(`${executionId} is ${ExecutionState[state]} after ${options.timeout}`, EXIT.unknown);
  try {
    let execution = mustHave((await eager.executions.getExecution({ executionId })).execution);
    while (!isTerminal(execution.state)) {
      state = execution.state;
      if (performance.now() >= deadline) throw overdue();
      execution = await waitOnce(patient, executionId, deadline - performance.now());
    }
    return execution;
  } catch (error) {
    if (error instanceof CliError || !isRetryable(error)) throw error;
    throw performance.now() < deadline ? new CliError(rpcErrorLine(toRpcError(error)), EXIT.unknown) : overdue();
  }
}

async function waitOnce({ executions }: HarnessClient, executionId: string, leftMs: number): Promise<Execution> {
  const timeout = durationFromMs(Math.max(0, Math.floor(Math.min(LONGEST_WAIT_MS, leftMs))));
  // The limit counts where no runtime answers as well. Only near its end: a timer cannot be longer than 24 days.
  const late = leftMs < 10 * AWAY_MS ? { signal: AbortSignal.timeout(Math.ceil(leftMs) + ANSWER_MS) } : {};
  return mustHave((await executions.waitExecution({ executionId, timeout }, late)).execution);
}

function mustHave(execution: Execution | undefined): Execution {
  if (execution === undefined) throw new CliError("the server answered with no execution");
  return execution;
}

function listText(executions: readonly Execution[]): string {
  const rows = executions.map(({ id, providerId, state, createTime, endTime, input }) => [
    oneLine(id),
    stateText(state),
    oneLine(providerId),
    timeText(createTime),
    spanText(createTime, endTime),
    oneLine(input?.text ?? "", 50),
  ]);
  return table(["ID", "STATE", "PROVIDER", "CREATED", "TOOK", "INPUT"], rows);
}

function executionText(execution: Execution): string {
  const { labels, usage, structuredOutput, openActions } = execution;
  const open = openActions.map(({ id, title }) => `${oneLine(id)} ${oneLine(title, 80)}`);
  return pairs({
    id: oneLine(execution.id),
    state: stateText(execution.state),
    why: whyOf(execution),
    provider: oneLine(`${execution.providerId} ${execution.providerVersion}`),
    conversation: oneLine(execution.conversationId),
    parent: oneLine(execution.parentExecutionId),
    labels: Object.entries(labels)
      .map(([key, value]) => oneLine(`${key}=${value}`))
      .join(" "),
    created: timeText(execution.createTime),
    ended: timeText(execution.endTime),
    took: spanText(execution.createTime, execution.endTime),
    "attempt, turn": `${execution.attempt}, ${execution.turn}`,
    events: String(execution.lastSequence),
    tokens: usage === undefined || usage.totalTokens === 0 ? "" : String(usage.totalTokens),
    "open action": open.join(", "),
    input: oneLine(execution.input?.text ?? "", 200),
    structured: structuredOutput === undefined ? "" : printable(JSON.stringify(toJson(ValueSchema, structuredOutput))),
    output: printable(execution.finalOutput ?? ""),
  });
}
