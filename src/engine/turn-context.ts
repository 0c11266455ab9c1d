import type { ContextEntry } from "./context-policy.js";
import { retrieveContext } from "./context-source.js";
import { type ChatMessage, textOf } from "./message.js";
import type { TurnScope } from "./turn-scope.js";

/** Retrieved text of one turn: as messages, and as what a context policy is told of them. */
export interface ContextEntryMessages {
  readonly messages: readonly ChatMessage[];
  readonly entries: readonly ContextEntry[];
}

/** Asks the run's context sources; what was cut or failed is an event in the log. */
export async function retrieveForTurn(turn: TurnScope): Promise<ContextEntryMessages> {
  const sources = turn.run.abilities?.contextSources ?? [];
  const { messages, diagnostics } = await retrieveContext(sources, textOf(turn.input), turn.ctx, turn.run.config.clock);
  for (const { sourceId, problem, detail } of diagnostics) {
    const data = { source_id: sourceId, problem, detail };
    turn.emitter.push({ case: "providerEvent", value: { type: "engine.context_diagnostic", data } });
  }
  const entries = messages.map(({ sourceId, content }) => ({
    sourceId: sourceId ?? "",
    sizeBytes: Buffer.byteLength(textOf(content)),
  }));
  return { messages, entries };
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
