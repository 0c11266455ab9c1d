import type { ContextEntry, LeftOut } from "./context-policy.js";
import { type ContextDiagnostic, retrieveContext } from "./context-source.js";
import { type ChatMessage, textOf } from "./message.js";
import type { TurnScope } from "./turn-scope.js";

/** Of a policy's reason the log has so many characters. */
const MAX_REASON_CHARS = 1_000;

/** Retrieved text of one turn: as messages, and as what a context policy is told of them. */
export interface ContextEntryMessages {
  readonly messages: readonly ChatMessage[];
  readonly entries: readonly ContextEntry[];
}

/** Asks the run's context sources; what was cut or failed is an event in the log. */
export async function retrieveForTurn(turn: TurnScope): Promise<ContextEntryMessages> {
  const sources = turn.run.abilities?.contextSources ?? [];
  const { messages, diagnostics } = await retrieveContext(sources, textOf(turn.input), turn.ctx, turn.run.config.clock);
  for (const diagnostic of diagnostics) report(turn, diagnostic);
  const entries = messages.map(({ sourceId, content }) => ({
    sourceId: sourceId ?? "",
    sizeBytes: Buffer.byteLength(textOf(content)),
  }));
  return { messages, entries };
}

/** Says in the log which sources a context policy leaves out, each once. */
export function reportLeftOut(turn: TurnScope, leftOut: readonly LeftOut[]): void {
  for (const { sourceId, reason } of leftOut) {
    if (turn.leftOut.has(sourceId)) continue;
    turn.leftOut.add(sourceId);
    report(turn, { sourceId, problem: "left_out", detail: reason.slice(0, MAX_REASON_CHARS).toWellFormed() });
  }
}

function report(turn: TurnScope, { sourceId, problem, detail }: ContextDiagnostic): void {
  const data = { source_id: sourceId, problem, detail };
  turn.emitter.push({ case: "providerEvent", value: { type: "engine.context_diagnostic", data } });
}

/**
 * Puts what abilities and sources bring among a call's messages: prompts after the
 * leading system messages, retrieved text before the last user message.
 */
export function withContext(
  messages: readonly ChatMessage[],
  prompts: readonly string[],
  retrieved: readonly ChatMessage[],
): readonly ChatMessage[] {
  if (prompts.length + retrieved.length === 0) return messages;
  const firstOther = messages.findIndex(({ role }) => role !== "system");
  const head = firstOther < 0 ? messages.length : firstOther;
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  const at = Math.max(lastUser, head);
  const system = prompts.map((content): ChatMessage => ({ role: "system", content }));
  return [...messages.slice(0, head), ...system, ...messages.slice(head, at), ...retrieved, ...messages.slice(at)];
}
