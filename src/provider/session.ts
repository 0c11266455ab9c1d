import { create } from "@bufbuild/protobuf";
import { durationMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type ConnectRequest,
  ConnectRequestSchema,
  type ConnectResponse,
} from "../../gen/ts/harnessruntime/provider/v1/provider_service_pb.js";
import type { Clock } from "../core/clock.js";
import type { Held } from "./held.js";

/** So many heartbeat intervals without a word, and the runtime is taken for gone. */
const SILENT_INTERVALS = 3;
/** How long the runtime may take to answer `register`, in milliseconds. */
const REGISTER_TIMEOUT_MS = 30_000;
const DEFAULT_HEARTBEAT_MS = 10_000;

/** Opens one stream to a runtime: what is sent, what comes, until either side ends it. */
export type Dial = (requests: AsyncIterable<ConnectRequest>, signal: AbortSignal) => AsyncIterable<ConnectResponse>;

export interface SessionOptions {
  readonly held: Held;
  readonly instanceId: string;
  readonly clock: Clock;
  readonly isDraining: () => boolean;
  readonly onRegistered: () => void;
  /** The runtime gives no more executions over this stream. */
  readonly onDrain: () => void;
}

/** One stream to the runtime, from `register` to its end. */
export class Session {
  readonly #options: SessionOptions;
  readonly #abort = new AbortController();
  #wake: (() => void) | undefined;
  #phase: "new" | "registering" | "registered" | "over" = "new";
  #mustSay: "nothing" | "heartbeat" | "drain" = "nothing";
  #heartbeatMs = DEFAULT_HEARTBEAT_MS;
  #stopHeartbeat: (() => void) | undefined;
  #stopSilence: (() => void) | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Runs until the stream ends; throws why it broke. */
  async run(dial: Dial): Promise<void> {
    this.#armSilence(REGISTER_TIMEOUT_MS);
    try {
      for await (const { message } of dial(this.#requests(), this.#abort.signal)) this.#receive(message);
    } finally {
      this.#end();
    }
  }

  /** There is something to send. */
  wake(): void {
    this.#wake?.();
  }

  /** Tells the runtime to give no more executions. */
  drain(): void {
    if (this.#phase !== "registered") return;
    this.#mustSay = "drain";
    this.wake();
  }

  /** Ends the stream. */
  close(): void {
    this.#abort.abort(new Error("closed"));
    this.#end();
  }

  #receive(message: ConnectResponse["message"]): void {
    const { held } = this.#options;
    held.heard();
    if (message.case === "registered") {
      const { heartbeatInterval, grace } = message.value;
      if (heartbeatInterval !== undefined) this.#heartbeatMs = Math.max(durationMs(heartbeatInterval), 1);
      held.reconcile(message.value, grace === undefined ? 0 : durationMs(grace));
      this.#phase = "registered";
      this.#options.onRegistered();
      if (this.#options.isDraining()) this.drain();
      this.wake();
    } else if (message.case === "drain") this.#options.onDrain();
    else held.receive(message);
    this.#armSilence(SILENT_INTERVALS * this.#heartbeatMs);
  }

  /** What is sent, pulled one by one as the stream takes it. */
  async *#requests(): AsyncGenerator<ConnectRequest> {
    const { held, instanceId } = this.#options;
    const { manifest, capacity } = held.provider;
    this.#phase = "registering";
    yield request({ case: "register", value: { manifest, instanceId, capacity, executions: held.list() } });
    for (;;) {
      const message = this.#next();
      if (this.#isOver()) return;
      if (message === undefined) await this.#somethingToSend();
      else {
        this.#armHeartbeat();
        yield create(ConnectRequestSchema, { message });
      }
    }
  }

  #next(): ConnectRequest["message"] | undefined {
    if (this.#phase !== "registered") return undefined;
    const { held, clock } = this.#options;
    const say = this.#mustSay;
    this.#mustSay = "nothing";
    if (say === "drain") return request({ case: "drain", value: {} }).message;
    const message = held.next();
    if (message !== undefined || say === "nothing") return message;
    return request({ case: "heartbeat", value: { time: timestampFromMs(clock.now()) } }).message;
  }

  #isOver(): boolean {
    return this.#phase === "over";
  }

  #somethingToSend(): Promise<void> {
    this.#armHeartbeat();
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  #armHeartbeat(): void {
    this.#stopHeartbeat?.();
    this.#stopHeartbeat = this.#options.clock.after(this.#heartbeatMs, () => {
      if (this.#mustSay === "nothing") this.#mustSay = "heartbeat";
      this.wake();
    });
  }

  #armSilence(limitMs: number): void {
    this.#stopSilence?.();
    if (this.#isOver()) return;
    this.#stopSilence = this.#options.clock.after(limitMs, () => {
      this.#abort.abort(new Error(`the runtime said nothing for ${limitMs} ms`));
      this.#end();
    });
  }

  #end(): void {
    this.#phase = "over";
    this.#stopHeartbeat?.();
    this.#stopSilence?.();
    this.wake();
  }
}

function request(
  message: NonNullable<Parameters<typeof create<typeof ConnectRequestSchema>>[1]>["message"],
): ConnectRequest {
  return create(ConnectRequestSchema, message === undefined ? {} : { message });
}
