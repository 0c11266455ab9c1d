import type { Clock } from "../core/clock.js";
import { messageOf } from "./errors.js";
import type { ChatMessage } from "./message.js";
import type { RunContext } from "./run-context.js";

/** Retrieves text for a turn: documents, memory, anything that is not the conversation itself. */
export interface ContextSource {
  /** Unique in a run. */
  readonly id: string;
  /** Returns texts, the most relevant first; empty ones are nothing. `signal` ends it when its time is over. */
  retrieve(query: string, ctx: RunContext, signal: AbortSignal): Promise<readonly string[]>;
}

/** What all sources of a turn share. */
export interface ContextLimits {
  /** Default 32. */
  readonly maxEntries: number;
  /** UTF-8 bytes. Default 65,536. */
  readonly maxBytes: number;
  /** Default 5,000. */
  readonly timeoutMs: number;
}

/** The limits that hold unless others are given. */
export const CONTEXT_LIMITS: ContextLimits = { maxEntries: 32, maxBytes: 65_536, timeoutMs: 5_000 };

/** What the sources gave, as messages of role `user` that bear their `sourceId`, and what was cut or failed. */
export interface RetrievedContext {
  readonly messages: readonly ChatMessage[];
  readonly diagnostics: readonly ContextDiagnostic[];
}

export interface ContextDiagnostic {
  readonly sourceId: string;
  /** `left_out`: retrieved, and not, or not all of it, shown by the context policy. */
  readonly problem: "failed" | "timed_out" | "cut" | "left_out";
  readonly detail: string;
}

/** Asks all sources at once, within the shared limits. Never rejects. */
export async function retrieveContext(
  sources: readonly ContextSource[],
  query: string,
  ctx: RunContext,
  clock: Clock,
  limits: ContextLimits = CONTEXT_LIMITS,
): Promise<RetrievedContext> {
  if (sources.length === 0) return { messages: [], diagnostics: [] };
  const end = new AbortController();
  const stopTimer = clock.after(limits.timeoutMs, () => end.abort());
  try {
    const answers = await Promise.all(sources.map((source) => ask(source, query, ctx, end.signal)));
    return select(answers, limits);
  } finally {
    stopTimer();
    end.abort();
  }
}

type Answer = { readonly sourceId: string; readonly texts: readonly string[]; readonly diagnostic?: ContextDiagnostic };

async function ask(source: ContextSource, query: string, ctx: RunContext, timeout: AbortSignal): Promise<Answer> {
  const sourceId = source.id;
  const signal = AbortSignal.any([ctx.signal, timeout]);
  try {
    const texts = await raceAbort(source.retrieve(query, ctx, signal), signal);
    return { sourceId, texts };
  } catch (error) {
    const problem = timeout.aborted ? "timed_out" : "failed";
    const detail = timeout.aborted ? "it did not answer in time" : messageOf(error);
    return { sourceId, texts: [], diagnostic: { sourceId, problem, detail } };
  }
}

/** Rejects with the signal's reason where it is aborted first. */
export function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function select(answers: readonly Answer[], { maxEntries, maxBytes }: ContextLimits): RetrievedContext {
  const messages: ChatMessage[] = [];
  const diagnostics: ContextDiagnostic[] = [];
  let leftBytes = maxBytes;
  const take = (sourceId: string, text: string): boolean => {
    const sizeBytes = Buffer.byteLength(text);
    if (messages.length >= maxEntries || sizeBytes > leftBytes) return false;
    leftBytes -= sizeBytes;
    messages.push({ role: "user", content: text, sourceId });
    return true;
  };
  for (const { sourceId, texts, diagnostic } of answers) {
    if (diagnostic !== undefined) diagnostics.push(diagnostic);
    const told = texts.filter((text) => text !== "");
    const cut = told.filter((text) => !take(sourceId, text)).length;
    if (cut > 0)
      diagnostics.push({ sourceId, problem: "cut", detail: `${cut} of ${told.length} entries are left out` });
  }
  return { messages, diagnostics };
}
