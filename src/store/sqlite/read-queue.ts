import type { HarnessError } from "../../core/errors.js";
import type { Query, ReaderReply, ReaderRequest } from "./messages.js";
import { fileError, type ThreadLink } from "./thread-link.js";

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Sends queries to the reader and gives back its answers. */
export class ReadQueue {
  readonly #link: ThreadLink<ReaderRequest, ReaderReply>;
  readonly #file: string;
  /** Called when the reader has written the log back. */
  readonly #onCheckpointed: () => void;
  readonly #asked = new Map<number, Pending>();
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
      this.#link.send({ kind: "query", id, query });
      this.#link.owe();
      this.#asked.set(id, { resolve, reject });
    });
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
    if (reply.kind !== "answer" && reply.kind !== "refused") return;
    const pending = this.#asked.get(reply.id);
    if (pending === undefined) return;
    this.#asked.delete(reply.id);
    this.#link.settle();
    if (reply.kind === "answer") pending.resolve(reply.value);
    else pending.reject(fileError(this.#file, reply.failure));
    if (this.#asked.size === 0) this.#onIdle?.();
  }

  #lose(error: HarnessError): void {
    this.#lost = error;
    for (const { reject } of this.#asked.values()) reject(error);
    this.#asked.clear();
    this.#onIdle?.();
  }
}
