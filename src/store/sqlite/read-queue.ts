import { setImmediate } from "node:timers";
import type { HarnessError } from "../../core/errors.js";
import type { NumberedAnswer, NumberedQuery, Query, ReaderReply, ReaderRequest } from "./messages.js";
import { fileError, type ThreadLink } from "./thread-link.js";

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Sends queries to the reader, all of one turn of the event loop in one message, and gives back its answers. */
export class ReadQueue {
  readonly #link: ThreadLink<ReaderRequest, ReaderReply>;
  readonly #file: string;
  /** Called when the reader has written the log back. */
  readonly #onCheckpointed: () => void;
  readonly #asked = new Map<number, Pending>();
  #gathering: NumberedQuery[] = [];
  #id = 0;
  #lost: HarnessError | undefined;
  #onIdle: (() => void) | undefined;

  constructor(link: ThreadLink<ReaderRequest, ReaderReply>, file: string, onCheckpointed: () => void) {
    this.#link = link;
    this.#file = file;
    this.#onCheckpointed = onCheckpointed;
    link.listen(
      (reply) => this.#receive(reply),
      (error) => this.#lose(error),
    );
  }

  ask(query: Query): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== undefined) {
        reject(this.#lost);
        return;
      }
      const id = ++this.#id;
      this.#link.owe();
      this.#asked.set(id, { resolve, reject });
      if (this.#gathering.push([id, query]) === 1) setImmediate(() => this.#send());
    });
  }

  #send(): void {
    const queries = this.#gathering;
    this.#gathering = [];
    if (this.#lost === undefined) this.#link.send({ kind: "queries", queries });
  }

  /** Has the reader write the log back. */
  checkpoint(): void {
    if (this.#lost === undefined) this.#link.send({ kind: "checkpoint" });
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    if (this.#asked.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  #receive(reply: ReaderReply): void {
    if (reply.kind === "checkpointed") this.#onCheckpointed();
    if (reply.kind !== "answers") return;
    for (const [id, answer] of reply.answers) this.#settle(id, answer);
    if (this.#asked.size === 0) this.#onIdle?.();
  }

  #settle(id: number, answer: NumberedAnswer[1]): void {
    const pending = this.#asked.get(id);
    if (pending === undefined) return;
    this.#asked.delete(id);
    this.#link.settle();
    if ("value" in answer) pending.resolve(answer.value);
    else pending.reject(fileError(this.#file, answer.failure));
  }

  #lose(error: HarnessError): void {
    this.#lost = error;
    for (const { reject } of this.#asked.values()) reject(error);
    this.#asked.clear();
    this.#onIdle?.();
  }
}
