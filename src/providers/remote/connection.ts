import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Status } from "../../../gen/ts/google/rpc/status_pb.js";
import {
  type ConnectResponse,
  ConnectResponseSchema,
} from "../../../gen/ts/harnessruntime/provider/v1/provider_service_pb.js";
import type { Clock } from "../../core/clock.js";

type Message = NonNullable<MessageInitShape<typeof ConnectResponseSchema>["message"]>;

/** The largest message to an instance, in bytes: a turn with its input, config, history and resume state. */
export const MAX_RESPONSE_BYTES = 8 << 20;
/** So many heartbeat intervals without a word, and the instance is taken for gone. */
const SILENT_INTERVALS = 3;
/** An instance that reads so slowly that more waits for it is taken for gone. */
const MAX_WAITING_MESSAGES = 10_000;

export interface ConnectionOptions {
  readonly clock: Clock;
  readonly heartbeatMs: number;
  /** Called once, when the stream is over for the runtime, whatever its peer does. */
  readonly onClose: () => void;
}

/**
 * One stream of one instance, as the runtime writes it. Acknowledgements of an
 * attempt are written as one where they wait, for each covers those before it.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #waiting: Message[] = [];
  readonly #acks = new Map<string, Message & { case: "ack" }>();
  #wake: (() => void) | undefined;
  #state: { readonly isOpen: true } | { readonly isOpen: false; readonly error: unknown } = { isOpen: true };
  #stopSilence: (() => void) | undefined;
  #stopHeartbeat: (() => void) | undefined;
  #mustBeat = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.heard();
  }

  get isOpen(): boolean {
    return this.#state.isOpen;
  }

  send(message: Message): void {
    if (!this.isOpen) return;
    this.#waiting.push(message);
    if (this.#waiting.length > MAX_WAITING_MESSAGES) this.close(new Error("the instance does not read"));
    this.#wake?.();
  }

  /** Acknowledges an attempt's outbox up to `emitId`; with a refusal, that one is refused. */
  ack(executionId: string, attempt: number, emitId: number, error: Status | undefined): void {
    if (!this.isOpen) return;
    const key = `${executionId}/${attempt}`;
    const before = this.#acks.get(key);
    const value = { executionId, attempt, emitId, ...(error === undefined ? {} : { error }) };
    if (error === undefined && before !== undefined) {
      before.value.emitId = emitId;
      return;
    }
    const ack = { case: "ack" as const, value };
    if (error === undefined) this.#acks.set(key, ack);
    else this.#acks.delete(key);
    this.send(ack);
  }

  /** The instance said something. */
  heard(): void {
    const { clock, heartbeatMs } = this.#options;
    this.#stopSilence?.();
    if (!this.isOpen) return;
    const limitMs = SILENT_INTERVALS * heartbeatMs;
    this.#stopSilence = clock.after(limitMs, () =>
      this.close(new Error(`the instance said nothing for ${limitMs} ms`)),
    );
  }

  /** It is not listened to for now: its silence does not count. */
  deaf(): void {
    this.#stopSilence?.();
  }

  /** Ends the stream, with an error where there is one. Idempotent. */
  close(error?: unknown): void {
    if (!this.isOpen) return;
    this.#state = { isOpen: false, error };
    this.#stopSilence?.();
    this.#stopHeartbeat?.();
    this.#options.onClose();
    this.#wake?.();
  }

  /** What is written, pulled one by one as the stream takes it. */
  async *responses(): AsyncGenerator<ConnectResponse> {
    try {
      for (;;) {
        const message = this.#next();
        if (message !== undefined) yield create(ConnectResponseSchema, { message });
        else if (this.#state.isOpen) await this.#somethingToSend();
        else if (this.#state.error !== undefined) throw this.#state.error;
        else return;
      }
    } finally {
      this.close();
    }
  }

  #next(): Message | undefined {
    const message = this.#waiting.shift();
    if (message?.case === "ack") {
      const { executionId, attempt } = message.value;
      const key = `${executionId}/${attempt}`;
      if (this.#acks.get(key) === message) this.#acks.delete(key);
    }
    const mustBeat = this.#mustBeat;
    this.#mustBeat = false;
    if (message !== undefined || !mustBeat) return message;
    return { case: "heartbeat", value: { time: timestampFromMs(this.#options.clock.now()) } };
  }

  #somethingToSend(): Promise<void> {
    const { clock, heartbeatMs } = this.#options;
    this.#stopHeartbeat?.();
    this.#stopHeartbeat = clock.after(heartbeatMs, () => {
      this.#mustBeat = true;
      this.#wake?.();
    });
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }
}
