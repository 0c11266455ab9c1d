import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { canonicalJson } from "./canonical-json.js";
import { RunFailure } from "./errors.js";
import { type ChatMessage, textOf } from "./message.js";
import type { RunContext } from "./run-context.js";

/**
 * Decides what of a conversation a model call shows. It works on copies: the
 * canonical history never changes.
 *
 * It may leave out whole finished tool groups and retrieved sources, and add
 * assistant messages of its own (such as a summary). It may not touch system and
 * user messages or an answer, split a tool group, leave out the group that the
 * model still works on, or give retrieved text another role: repeat all of it, or 64 characters
 * and more of it within a text of its own.
 */
export interface ContextPolicy {
  readonly id: string;
  project(
    messages: readonly ChatMessage[],
    ctx: RunContext,
    entries: readonly ContextEntry[],
  ): ContextProjection | Promise<ContextProjection>;
}

/** A piece of retrieved text among the messages, which bear its `sourceId`. */
export interface ContextEntry {
  readonly sourceId: string;
  readonly sizeBytes: number;
}

export interface ContextProjection {
  readonly messages: readonly ChatMessage[];
  /**
   * What became of each retrieved source. Of one that is not named here the messages tell. What they contradict
   * fails the run; each source that is not shown whole is a diagnostic in the log, once a turn, with its reason.
   */
  readonly provenance: readonly ContextProvenance[];
}

export interface ContextProvenance {
  readonly sourceId: string;
  readonly included: boolean;
  readonly reason?: string;
}

/** A run of messages that a projection keeps or drops as one. */
interface Segment {
  readonly messages: readonly ChatMessage[];
  readonly droppable: boolean;
}

/** Retrieved text of so many characters tells where it was taken over. */
const TELLING_CHARS = 64;

/**
 * Checks a projection against the messages it was made from and returns it. Throws
 * a {@link RunFailure} where it does what a {@link ContextPolicy} may not.
 */
export function checkProjection(
  original: readonly ChatMessage[],
  projected: readonly ChatMessage[],
): readonly ChatMessage[] {
  const kept = projected.map(canonicalJson);
  const isAddition = (index: number): boolean => isOwn(projected[index], original);
  let at = 0;
  for (const segment of toSegments(original)) {
    const texts = segment.messages.map(canonicalJson);
    const start = findNext(kept, at, texts[0] ?? "", isAddition);
    if (start !== undefined && texts.every((text, index) => kept[start + index] === text)) {
      at = start + texts.length;
      continue;
    }
    if (!segment.droppable) throw refused(segment.messages[0]);
  }
  for (let index = at; index < projected.length; index++) {
    if (!isAddition(index)) throw refused(projected[index]);
  }
  return projected;
}

/** A source that a projection does not show, or not whole. */
export interface LeftOut {
  readonly sourceId: string;
  readonly reason: string;
}

/**
 * Returns the sources that a projection leaves out, in whole or in part. Throws a
 * {@link RunFailure} where what the policy says of a source is not what its messages show.
 */
export function checkProvenance(
  original: readonly ChatMessage[],
  { messages, provenance }: ContextProjection,
): readonly LeftOut[] {
  const retrieved = countBySource(original);
  const held = countBySource(messages);
  for (const sourceId of new Set(provenance.map((told) => told.sourceId))) {
    const said = provenance.some((told) => told.sourceId === sourceId && told.included);
    if (said !== held.has(sourceId)) throw contradicted(sourceId, said);
  }
  return [...retrieved]
    .filter(([sourceId, count]) => (held.get(sourceId) ?? 0) < count)
    .map(([sourceId]) => ({ sourceId, reason: reasonOf(sourceId, provenance) }));
}

function countBySource(messages: readonly ChatMessage[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { sourceId } of messages)
    if (sourceId !== undefined) counts.set(sourceId, (counts.get(sourceId) ?? 0) + 1);
  return counts;
}

function reasonOf(sourceId: string, provenance: readonly ContextProvenance[]): string {
  const told = provenance.find((entry) => entry.sourceId === sourceId && !entry.included && entry.reason !== undefined);
  return told?.reason ?? "the context policy does not say why";
}

function contradicted(sourceId: string, said: boolean): RunFailure {
  const told = said ? "is included, and no message shows it" : "is left out, and a message shows it";
  return new RunFailure(
    FailureReason.PROVIDER_ERROR,
    `the context policy says that the source ${JSON.stringify(sourceId)} ${told}`,
  );
}

/** Splits messages into what stands or falls together, oldest first. */
export function toSegments(messages: readonly ChatMessage[]): readonly Segment[] {
  const segments: Segment[] = [];
  let index = 0;
  while (index < messages.length) {
    const end = groupEnd(messages, index);
    const group = messages.slice(index, end);
    const [first] = group;
    const isToolGroup = (first?.toolCalls?.length ?? 0) > 0;
    segments.push({
      messages: group,
      droppable: first?.sourceId !== undefined || (isToolGroup && isFinished(messages, index, end)),
    });
    index = end;
  }
  return segments;
}

/** The index after the group that begins at `start`. */
function groupEnd(messages: readonly ChatMessage[], start: number): number {
  if ((messages[start]?.toolCalls?.length ?? 0) === 0) return start + 1;
  let end = start + 1;
  while (messages[end]?.role === "tool") end++;
  return end;
}

/** Every call has its answer, and the model went on from there. */
function isFinished(messages: readonly ChatMessage[], start: number, end: number): boolean {
  const answered = new Set(messages.slice(start + 1, end).map(({ toolCallId }) => toolCallId));
  const calls = messages[start]?.toolCalls ?? [];
  return calls.every(({ id }) => answered.has(id)) && messages.slice(end).some(({ role }) => role === "assistant");
}

/** Finds `text` from `at` on, over messages that the policy added itself. */
function findNext(
  kept: readonly string[],
  at: number,
  text: string,
  isAddition: (index: number) => boolean,
): number | undefined {
  for (let index = at; index < kept.length; index++) {
    if (kept[index] === text) return index;
    if (!isAddition(index)) return undefined;
  }
  return undefined;
}

/** Plain assistant text that brings no retrieved text in under another role. */
function isOwn(message: ChatMessage | undefined, original: readonly ChatMessage[]): boolean {
  if (message?.role !== "assistant" || message.sourceId !== undefined) return false;
  if ((message.toolCalls?.length ?? 0) > 0 || message.providerExtras !== undefined) return false;
  const text = textOf(message.content);
  return !original.some((source) => source.sourceId !== undefined && repeats(text, textOf(source.content)));
}

/** Words that anybody may use are no source's: a short text is repeated only where there is nothing else. */
function repeats(text: string, retrieved: string): boolean {
  return retrieved.length < TELLING_CHARS ? text.trim() === retrieved.trim() : text.includes(retrieved);
}

function refused(message: ChatMessage | undefined): RunFailure {
  const role = message?.role ?? "unknown";
  return new RunFailure(
    FailureReason.PROVIDER_ERROR,
    `the context policy changed, moved, added or left out a message (role ${role}) that it may not`,
  );
}
