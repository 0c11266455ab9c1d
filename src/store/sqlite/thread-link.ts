import type { Worker } from "node:worker_threads";
import type { HarnessError } from "../../core/errors.js";
import { unavailable } from "../refusals.js";
import type { FileFailure } from "./messages.js";

interface Reply {
  readonly kind: string;
}

/**
 * A store's end of the connection to one of its threads. The thread keeps the
 * process alive only while it owes a reply.
 */
export class ThreadLink<Q, R extends Reply> {
  readonly #worker: Worker;
  readonly #file: string;
  #owed = 0;
  #listener: (reply: R) => void = () => {};
  #onLost: (error: HarnessError) => void = () => {};
  #lost: HarnessError | undefined;
  /** Whether the thread is ended on purpose. */
  #isEnding = false;
  readonly #loss = Promise.withResolvers<HarnessError>();

  constructor(worker: Worker, file: string) {
    this.#worker = worker;
    this.#file = file;
    worker.unref();
    worker.on("message", (reply: R) => this.#receive(reply));
    worker.on("error", (error) => this.#lose(threadEnded(file, error)));
    worker.on("exit", () => this.#lose(threadEnded(file, undefined)));
  }

  /** Resolves with the reason when the thread ends unasked, or says that its file is lost; never rejects. */
  get lost(): Promise<HarnessError> {
    return this.#loss.promise;
  }

  /** Takes the thread's replies from now on; `onLost` is called once if it ends unasked. */
  listen(listener: (reply: R) => void, onLost: (error: HarnessError) => void): void {
    this.#listener = listener;
    this.#onLost = onLost;
    if (this.#lost !== undefined) onLost(this.#lost);
  }

  send(request: Q, buffers: readonly ArrayBuffer[] = []): void {
    this.#worker.postMessage(request, buffers);
  }

  /** Counts a reply that the thread owes. */
  owe(): void {
    if (this.#owed++ === 0) this.#worker.ref();
  }

  /** Counts a reply that it owes no more. */
  settle(): void {
    if (--this.#owed === 0) this.#worker.unref();
  }

  /** Waits for the thread's first reply: resolves where it has opened the file, and else fails with STORE_UNAVAILABLE. */
  async opened(request?: Q): Promise<void> {
    const opening = this.#reply(["opened", "failed"]);
    if (request !== undefined) this.send(request);
    const reply = await opening;
    if (reply.kind === "failed") throw fileError(this.#file, (reply as unknown as { failure: FileFailure }).failure);
  }

  /** Has the thread close what it holds, and waits until it has. */
  async close(request: Q): Promise<void> {
    this.#isEnding = true;
    if (this.#lost !== undefined) return;
    const closing = this.#reply(["closed"]).catch(() => undefined);
    this.send(request);
    await closing;
    await this.#worker.terminate();
  }

  /** Ends the thread at once. */
  async abandon(): Promise<void> {
    this.#isEnding = true;
    await this.#worker.terminate();
  }

  #reply(kinds: readonly string[]): Promise<R> {
    const before = [this.#listener, this.#onLost] as const;
    this.owe();
    return new Promise<R>((resolve, reject) => {
      const listener = (reply: R): void => {
        if (!kinds.includes(reply.kind)) {
          before[0](reply);
          return;
        }
        this.settle();
        this.listen(...before);
        resolve(reply);
      };
      this.listen(listener, (error) => {
        before[1](error);
        reject(error);
      });
    });
  }

  #receive(reply: R): void {
    if (reply.kind !== "lost") this.#listener(reply);
    else this.#lose(fileError(this.#file, (reply as unknown as { failure: FileFailure }).failure));
  }

  #lose(error: HarnessError): void {
    if (this.#lost !== undefined) return;
    this.#lost = error;
    this.#onLost(error);
    if (!this.#isEnding) this.#loss.resolve(error);
  }
}

function threadEnded(file: string, cause: unknown): HarnessError {
  const why = cause instanceof Error ? ` (${cause.message})` : "";
  return unavailable(
    `the thread that keeps ${file} has ended unexpectedly${why}: close the store and open it again`,
    { file },
    cause,
  );
}

/** The error for a file that cannot be opened, read or written. */
export function fileError(file: string, { code, message }: FileFailure): HarnessError {
  return unavailable(message, { file, code });
}
