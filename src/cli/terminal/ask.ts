import { createInterface } from "node:readline/promises";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  ActionKind,
  type ActionOption,
  ActionOptionKind,
  type ActionRequest,
} from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import type { ActionAnswer } from "../../client/respond.js";
import { oneLine, printable } from "./printable.js";
import type { Progress } from "./progress.js";
import { paint } from "./style.js";

/** What else is written while somebody is asked. */
type Asking = Pick<Progress, "note" | "question" | "end">;

/** Whether somebody can be asked: both ends of the conversation are a terminal. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/**
 * Asks the person at the terminal to answer an action, until the answer can be understood. Resolves with undefined
 * when the signal is aborted, or when the input has ended.
 */
export async function askAction(
  action: ActionRequest,
  progress: Asking,
  signal: AbortSignal,
): Promise<ActionAnswer | undefined> {
  const { note } = progress;
  note(paint("bold", `? ${oneLine(action.title, 200)}`, "stderr"));
  if (action.description !== "") note(printable(action.description));
  if (action.payload !== undefined) note(paint("dim", oneLine(JSON.stringify(action.payload), 500), "stderr"));
  for (const [index, option] of action.options.entries()) note(`  ${index + 1}  ${optionText(option)}`);
  const prompt = promptOf(action);
  for (;;) {
    const text = await askLine(prompt, progress, signal);
    if (text === undefined) return undefined;
    const answer =
      action.kind === ActionKind.INPUT
        ? toValue(text, action.inputSchema)
        : await decided(toChoice(text, action.options), action.options, progress, signal);
    if (answer !== undefined) return answer;
    note("that is no answer to it");
  }
}

function optionText({ id, label, kind }: ActionOption): string {
  const meaning =
    kind === ActionOptionKind.UNSPECIFIED ? "" : ` (${ActionOptionKind[kind].toLowerCase().replace("_", " ")})`;
  return oneLine(label || id, 200) + paint("dim", meaning, "stderr");
}

function promptOf({ kind, options, inputSchema }: ActionRequest): string {
  if (kind === ActionKind.APPROVAL) return options.length > 0 ? `number, or y/n: ` : "approve? y/n: ";
  const type = inputSchema?.["type"];
  return type === undefined || type === "string" ? "answer: " : `answer (JSON, ${oneLine(JSON.stringify(type))}): `;
}

async function askLine(prompt: string, progress: Asking, signal: AbortSignal): Promise<string | undefined> {
  if (signal.aborted) return undefined;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // The line editor takes Ctrl-C for itself: hand it on to whoever listens for it.
  lines.on("SIGINT", () => process.emit("SIGINT"));
  // The signal is not the editor's: it would begin a new line of its own.
  const over = Promise.withResolvers<undefined>();
  const stop = (): void => over.resolve(undefined);
  lines.on("close", stop);
  signal.addEventListener("abort", stop, { once: true });
  try {
    progress.question(true);
    const line = lines.question(prompt).catch(() => undefined);
    const text = await Promise.race([line, over.promise]);
    if (text === undefined) progress.end();
    else progress.question(false);
    return text?.trim();
  } finally {
    signal.removeEventListener("abort", stop);
    lines.close();
  }
}

/** Asks whether an option approves that does not say so itself; undefined where the answer cannot be understood. */
async function decided(
  answer: ActionAnswer | undefined,
  options: readonly ActionOption[],
  progress: Asking,
  signal: AbortSignal,
): Promise<ActionAnswer | undefined> {
  const option = options.find(({ id }) => id === answer?.optionId);
  if (answer === undefined || option?.kind !== ActionOptionKind.UNSPECIFIED) return answer;
  const text = (await askLine("approve with it? y/n: ", progress, signal)) ?? "";
  const decision = toChoice(text, []);
  return decision && { optionId: option.id, approved: decision.approved === true };
}

function toChoice(text: string, options: readonly ActionOption[]): ActionAnswer | undefined {
  if (/^(y|yes)$/i.test(text)) return { approved: true };
  if (/^(n|no)$/i.test(text)) return { approved: false };
  const option = options[Number(text) - 1] ?? options.find(({ id }) => id === text);
  return option === undefined ? undefined : { optionId: option.id };
}

function toValue(text: string, schema: JsonObject | undefined): ActionAnswer | undefined {
  const type = schema?.["type"];
  if (type === undefined || type === "string") return { value: fromJson(ValueSchema, text) };
  try {
    return { value: fromJson(ValueSchema, JSON.parse(text) as JsonValue) };
  } catch {
    return undefined;
  }
}
