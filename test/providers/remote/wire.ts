import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type ConnectRequest,
  ConnectRequestSchema,
  type ConnectResponse,
  ConnectResponseSchema,
} from "../../../gen/ts/harnessruntime/provider/v1/provider_service_pb.js";
import { HarnessError } from "../../../src/core/errors.js";
import type { Dial } from "../../../src/provider/session.js";
import type { RemoteProviderService } from "../../../src/providers/remote/remote-providers.js";
import { fromHarnessError } from "../../../src/server/errors.js";

/** One direction of a stream. */
class Pipe<T> {
  readonly #items: T[] = [];
  #end: { readonly error?: Error } | undefined;
  #isStuck = false;
  #wake = (): void => undefined;

  push(item: T): void {
    if (this.#end !== undefined) return;
    this.#items.push(item);
    this.#wake();
  }

  /** What is under way still arrives. */
  end(error?: Error): void {
    this.#end ??= error === undefined ? {} : { error };
    this.#wake();
  }

  /** All but the first `keep` items of what is under way is lost. */
  cut(keep: number): void {
    this.#items.splice(keep);
    this.#isStuck = false;
    this.end(new Error("the connection was cut"));
  }

  /** Nothing arrives any more, and nobody is told. */
  stick(): void {
    this.#isStuck = true;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const item = this.#isStuck ? undefined : this.#items.shift();
      if (item !== undefined) yield item;
      else if (this.#end?.error !== undefined && !this.#isStuck) throw this.#end.error;
      else if (this.#end !== undefined && !this.#isStuck) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}

interface Stream {
  readonly up: Pipe<ConnectRequest>;
  readonly down: Pipe<ConnectResponse>;
  readonly abort: AbortController;
}

/** Streams between providers and a runtime in one process, which a test cuts as it likes. Messages cross it encoded. */
export class Wire {
  readonly #streams = new Set<Stream>();
  #connect: RemoteProviderService["implementation"]["connect"];
  /** Whether new streams are refused. */
  isDown = false;
  /** Sees each message to the runtime; what it answers false to is lost. */
  onUp: (message: ConnectRequest["message"]) => boolean = () => true;
  onDown: (message: ConnectResponse["message"]) => boolean = () => true;

  constructor({ implementation }: Pick<RemoteProviderService, "implementation">) {
    this.#connect = implementation.connect;
  }

  /** How many streams are open. */
  get size(): number {
    return this.#streams.size;
  }

  /** Another runtime listens from now on; the streams to the last one are cut. */
  serve({ implementation }: Pick<RemoteProviderService, "implementation">): void {
    this.#connect = implementation.connect;
    this.cut();
  }

  readonly dial: Dial = (requests, signal) => this.#dial(requests, signal);

  /** Cuts every stream: of what is under way each way the first `keep` messages still arrive. */
  cut(keep: { readonly up: number; readonly down: number } = { up: 0, down: 0 }): void {
    for (const { up, down, abort } of this.#streams) {
      up.cut(keep.up);
      down.cut(keep.down);
      abort.abort(new Error("the client is gone"));
    }
    this.#streams.clear();
  }

  /** Lets nothing through any more, either way, while both ends hold their stream for open. */
  stick(): void {
    for (const { up, down } of this.#streams) {
      up.stick();
      down.stick();
    }
  }

  async *#dial(requests: AsyncIterable<ConnectRequest>, signal: AbortSignal): AsyncGenerator<ConnectResponse> {
    if (this.isDown) throw new Error("nobody listens");
    const stream: Stream = { up: new Pipe(), down: new Pipe(), abort: new AbortController() };
    this.#streams.add(stream);
    const stop = (): void => {
      if (!this.#streams.delete(stream)) return;
      stream.up.cut(0);
      stream.down.cut(0);
      stream.abort.abort(new Error("the client is gone"));
    };
    signal.addEventListener("abort", stop, { once: true });
    void this.#send(requests, stream);
    void this.#answer(stream);
    try {
      yield* stream.down;
    } finally {
      stop();
    }
  }

  async #send(requests: AsyncIterable<ConnectRequest>, { up }: Stream): Promise<void> {
    for await (const request of requests) {
      const copy = fromBinary(ConnectRequestSchema, toBinary(ConnectRequestSchema, request));
      if (this.onUp(copy.message)) up.push(copy);
    }
    up.end();
  }

  async #answer({ up, down, abort }: Stream): Promise<void> {
    const context = { signal: abort.signal } as HandlerContext;
    try {
      for await (const response of this.#connect(up, context)) {
        const bytes = toBinary(ConnectResponseSchema, response as ConnectResponse);
        const copy = fromBinary(ConnectResponseSchema, bytes);
        if (this.onDown(copy.message)) down.push(copy);
      }
      down.end();
    } catch (error) {
      down.end(error instanceof HarnessError ? fromHarnessError(error) : (error as Error));
    }
  }
}
