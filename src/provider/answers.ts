import type { ActionAnswer as AnswerMessage } from "../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import type { ActionAnswer } from "../core/provider.js";
import { toAnswer } from "./messages.js";

/** The questions of one attempt: what was asked, and what was answered. */
export class Answers {
  /** Answers that an attempt before may have applied. */
  readonly #inherited: ReadonlyMap<string, ActionAnswer>;
  readonly #given = new Map<string, ActionAnswer>();
  readonly #asked = new Map<string, PromiseWithResolvers<ActionAnswer>>();
  #closed: Error | undefined;

  constructor(earlier: readonly ActionAnswer[]) {
    this.#inherited = new Map(earlier.filter(({ delivered }) => delivered).map((answer) => [answer.key, answer]));
  }

  /** The answer that was handed over before: it must not be applied again. */
  known(key: string): ActionAnswer | undefined {
    const given = this.#given.get(key);
    return given === undefined ? this.#inherited.get(key) : { ...given, delivered: true };
  }

  /** Whether `key` was asked and waits. */
  isAsked(key: string): boolean {
    return this.#asked.has(key);
  }

  /** Resolves with the answer to `key`; several may wait for the same one. */
  wait(key: string): Promise<ActionAnswer> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    const waiting = this.#asked.get(key) ?? Promise.withResolvers<ActionAnswer>();
    this.#asked.set(key, waiting);
    return waiting.promise;
  }

  /** Takes an answer, or the word that there will be none. One that nobody waits for was handed over before. */
  settle(message: AnswerMessage): void {
    const waiting = this.#asked.get(message.key);
    if (waiting === undefined) return;
    this.#asked.delete(message.key);
    if (message.abandoned) {
      waiting.reject(new Error("the action was abandoned"));
      return;
    }
    // Nobody in this process has seen it yet, and no attempt before it: whatever the wire did, it is new.
    const answer = { ...toAnswer(message), delivered: this.#inherited.has(message.key) };
    this.#given.set(message.key, answer);
    waiting.resolve(answer);
  }

  /** Rejects the question asked with `key`. */
  refuse(key: string, error: Error): void {
    this.#asked.get(key)?.reject(error);
    this.#asked.delete(key);
  }

  /** Rejects all that wait, and returns their keys: the turn must end. */
  rejectAll(error: Error): readonly string[] {
    const keys = [...this.#asked.keys()];
    for (const key of keys) this.refuse(key, error);
    return keys;
  }

  /** Rejects all that wait and all that come. */
  close(error: Error): void {
    this.#closed ??= error;
    this.rejectAll(error);
  }
}
