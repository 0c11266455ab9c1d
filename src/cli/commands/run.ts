import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { ActionKind, type ActionRequest } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { EventSchema } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import type { StartExecutionRequestSchema } from "../../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { type Execution, ExecutionSchema, ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { toRpcError } from "../../client/errors.js";
import { followToEnd } from "../../client/run.js";
import { parseDurationMs, parseJsonObject, readText } from "../arguments.js";
import { CliError, EXIT } from "../cli-error.js";
import { type ClientOptions, type Clients, commandText, openClients } from "../client-options.js";
import { rpcErrorLine } from "../rpc-error-line.js";
import { askAction, canAsk } from "../terminal/ask.js";
import { endLine, exitCodeOf } from "../terminal/ending.js";
import { createOutages } from "../terminal/outages.js";
import { printJson } from "../terminal/print.js";
import { oneLine, printable } from "../terminal/printable.js";
import { createProgress, type Progress } from "../terminal/progress.js";
import { paint } from "../terminal/style.js";

export interface RunOptions extends ClientOptions {
  readonly config?: string;
  readonly conversation?: string;
  readonly detach?: true;
  readonly idempotencyKey?: string;
  readonly label?: Record<string, string>;
  readonly require?: readonly string[];
  readonly timeout?: string;
}

/** Starts an execution and follows it to its end; resolves with the number to end with. */
export async function run(providerId: string, input: string, options: RunOptions): Promise<number> {
  const request = requestOf(providerId, await readText(input), options);
  const clients = await openClients(options);
  const { execution } = await clients.eager.executions.startExecution(request);
  if (execution === undefined) throw new CliError("the server answered with no execution");
  return options.detach ? leave(execution, options) : follow(clients, execution, options);
}

function requestOf(
  providerId: string,
  text: string,
  options: RunOptions,
): MessageInitShape<typeof StartExecutionRequestSchema> {
  const { config, conversation = "", idempotencyKey, label = {}, require = [], timeout } = options;
  return {
    providerId,
    input: { text },
    conversationId: conversation,
    labels: label,
    requiredCapabilities: [...require],
    ...(config === undefined ? {} : { config: parseJsonObject("--config", config) }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(timeout === undefined ? {} : { timeout: durationFromMs(parseDurationMs("--timeout", timeout)) }),
  };
}

function leave(execution: Execution, options: RunOptions): number {
  if (options.json) printJson(ExecutionSchema, execution);
  else process.stdout.write(`${oneLine(execution.id)}\n`);
  if (process.stderr.isTTY) process.stderr.write(`${followHint(execution.id, options)}\n`);
  return EXIT.ok;
}

async function follow({ patient }: Clients, { id }: Execution, options: RunOptions): Promise<number> {
  const progress = createProgress();
  const outages = createOutages(progress.note);
  const stop = new AbortController();
  const release = onInterrupt(
    () => {
      progress.note("cancelling; Ctrl-C again leaves it running");
      patient.executions
        .cancelExecution({ executionId: id, reason: "Ctrl-C at the command line" })
        .catch((error: unknown) =>
          progress.note(`it was not cancelled: ${printable(rpcErrorLine(toRpcError(error)))}`),
        );
    },
    () => stop.abort(),
  );
  if (!options.json) progress.note(paint("dim", oneLine(id), "stderr"));
  try {
    const execution = await followToEnd(
      patient,
      { executionId: id },
      {
        onEvent(event) {
          outages.heard();
          if (options.json) printJson(EventSchema, event);
          else progress.event(event);
        },
        onAction: async (action, signal) => answer(action, signal, progress, options),
        onRetry: outages.failed,
      },
      stop.signal,
    );
    progress.end();
    if (!options.json || execution.state !== ExecutionState.SUCCEEDED) progress.note(endLine(execution));
    return exitCodeOf(execution);
  } catch (error) {
    progress.end();
    if (!stop.signal.aborted) throw error;
    progress.note(followHint(id, options));
    return EXIT.detached;
  } finally {
    release();
  }
}

async function answer(action: ActionRequest, signal: AbortSignal, progress: Progress, options: RunOptions) {
  if (canAsk() && !options.json) return askAction(action, progress, signal);
  const what = action.kind === ActionKind.APPROVAL ? "approval" : "input";
  const how = action.kind === ActionKind.APPROVAL ? "--approve" : "--value '\"…\"'";
  progress.note(`${what} needed: ${oneLine(action.title)}`);
  const command = `respond ${oneLine(action.executionId)} ${oneLine(action.id)} ${how}`;
  progress.note(`answer with: ${commandText(command, options)}`);
  return undefined;
}

function followHint(executionId: string, options: ClientOptions): string {
  return `follow it with: ${commandText(`watch ${oneLine(executionId)}`, options)}`;
}

/** Calls `first` at the first Ctrl-C and `second` at the next. Returns what ends it. */
function onInterrupt(first: () => void, second: () => void): () => void {
  let count = 0;
  const handler = (): void => {
    count++;
    if (count === 1) first();
    else second();
  };
  process.on("SIGINT", handler);
  return () => process.off("SIGINT", handler);
}
