import type { MessageInitShape } from "@bufbuild/protobuf";
import { fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  ActionKind,
  type ActionRequest,
  ActionRequestSchema,
  type ActionResponseSchema,
} from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { SendInputResponseSchema } from "../../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { ExecutionSchema, ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import type { HarnessClient } from "../../client/client.js";
import { isTerminal } from "../../client/cursor.js";
import { respond as respondTo } from "../../client/respond.js";
import { parseEnum, parseJson, readText } from "../arguments.js";
import { CliError, EXIT, usageError } from "../cli-error.js";
import { type ClientOptions, commandText, openClients } from "../client-options.js";
import { exitCodeOf } from "../terminal/ending.js";
import { printJson } from "../terminal/print.js";
import { oneLine } from "../terminal/printable.js";
import { stateText } from "../terminal/style.js";

export interface SendOptions extends ClientOptions {
  readonly mode: string;
  readonly idempotencyKey?: string;
}

/** Sends an input to an execution. */
export async function send(executionId: string, text: string, options: SendOptions): Promise<number> {
  const [mode = InputMode.FOLLOW_UP] = parseEnum<InputMode>("--mode", InputMode, [options.mode]);
  const key = options.idempotencyKey === undefined ? {} : { idempotencyKey: options.idempotencyKey };
  const { eager } = await openClients(options);
  const input = { text: await readText(text) };
  const response = await eager.executions.sendInput({ executionId, input, mode, ...key });
  if (options.json) printJson(SendInputResponseSchema, response);
  else process.stdout.write(`${oneLine(response.inputId)} accepted as event ${response.sequence}\n`);
  return EXIT.ok;
}

export interface CancelOptions extends ClientOptions {
  readonly reason: string;
  readonly wait?: true;
}

/** Asks for an execution to be cancelled. */
export async function cancel(executionId: string, options: CancelOptions): Promise<number> {
  const { eager } = await openClients(options);
  const request = { executionId, reason: options.reason, wait: options.wait === true };
  const { execution } = await eager.executions.cancelExecution(request);
  if (execution === undefined) throw new CliError("the server answered with no execution");
  if (options.json) printJson(ExecutionSchema, execution);
  else process.stdout.write(`${oneLine(execution.id)} is ${stateText(execution.state)}\n`);
  const known = [ExecutionState.CANCELLED, ExecutionState.CANCELLING].includes(execution.state);
  return known ? EXIT.ok : exitCodeOf(execution);
}

export interface RespondOptions extends ClientOptions {
  readonly approve?: true;
  readonly deny?: true;
  readonly option?: string;
  readonly value?: string;
  readonly text?: string;
}

/** Answers an action; the only open one where none is named. */
export async function respond(
  executionId: string,
  actionId: string | undefined,
  options: RespondOptions,
): Promise<number> {
  const response = responseOf(options);
  const { eager } = await openClients(options);
  const open = actionId === undefined ? await onlyOpen(eager, executionId, options) : undefined;
  if (open !== undefined) checkKind(open, response);
  const action = await respondTo(eager, { executionId, actionId: open?.id ?? actionId ?? "" }, response);
  if (options.json) printJson(ActionRequestSchema, action);
  else process.stdout.write(`${oneLine(action.id)} is ${answeredText(action)}\n`);
  return EXIT.ok;
}

function answeredText({ kind, approved }: ActionRequest): string {
  if (kind !== ActionKind.APPROVAL) return "answered";
  return approved ? "approved" : "denied";
}

/** Throws a usage error, in this program's own words, where an answer is of the other kind. */
function checkKind(
  { id, kind, options }: ActionRequest,
  { value }: MessageInitShape<typeof ActionResponseSchema>,
): void {
  if (kind === ActionKind.APPROVAL && value !== undefined) {
    const ids = options.map((option) => oneLine(option.id)).join(", ");
    const how = ids === "" ? "--approve or --deny" : `--approve, --deny or --option ID, one of ${ids}`;
    throw usageError(`${oneLine(id)} asks for an approval: say ${how}`);
  }
  if (kind === ActionKind.INPUT && value === undefined) {
    throw usageError(`${oneLine(id)} asks for an input: say --text TEXT or --value JSON`);
  }
}

function responseOf({
  approve,
  deny,
  option,
  value,
  text,
}: RespondOptions): MessageInitShape<typeof ActionResponseSchema> {
  const decided = approve ?? deny;
  const given = [approve, deny, decided === undefined ? option : undefined, value, text];
  const count = given.filter((one) => one !== undefined).length;
  if (count !== 1) {
    throw usageError(`say ${count > 1 ? "only " : ""}one of --approve, --deny, --option ID, --value JSON, --text TEXT`);
  }
  const approved = decided === undefined ? {} : { approved: approve === true };
  if (option !== undefined) return { optionId: option, ...approved };
  if (text !== undefined) return { value: fromJson(ValueSchema, text) };
  if (value !== undefined) return { value: fromJson(ValueSchema, parseJson("--value", value)) };
  return { approved: approve === true };
}

async function onlyOpen(client: HarnessClient, executionId: string, options: ClientOptions): Promise<ActionRequest> {
  const { execution } = await client.executions.getExecution({ executionId });
  const [first, ...more] = execution?.openActions ?? [];
  if (first !== undefined && more.length === 0) return first;
  if (execution !== undefined && isTerminal(execution.state)) {
    throw new CliError(`${executionId} is ${ExecutionState[execution.state]}; nothing waits for an answer`);
  }
  const wayOut = commandText(`actions --execution ${executionId}`, options);
  throw new CliError(
    `${executionId} has ${first === undefined ? "no" : "more than one"} open action; ${wayOut} lists them`,
  );
}
