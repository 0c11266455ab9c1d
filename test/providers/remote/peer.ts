import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { ErrorInfoSchema } from "../../../gen/ts/google/rpc/error_details_pb.js";
import type { RegisterSchema } from "../../../gen/ts/harnessruntime/provider/v1/provider_pb.js";
import {
  type ConnectRequest,
  ConnectRequestSchema,
  type ConnectResponse,
} from "../../../gen/ts/harnessruntime/provider/v1/provider_service_pb.js";
import { remoteManifest } from "./kit.js";
import type { Wire } from "./wire.js";

type Sent = NonNullable<MessageInitShape<typeof ConnectRequestSchema>["message"]>;
type Received = ConnectResponse["message"];
type ValueOf<K extends Received["case"]> = Extract<Received, { case: K }>["value"];

/** An instance that does what a test says, whatever the protocol says. */
export class Peer {
  readonly #outgoing: ConnectRequest[] = [];
  readonly #received: Received[] = [];
  readonly #abort = new AbortController();
  #looks = new Set<() => void>();
  #wake = (): void => undefined;
  #isEnding = false;
  #lastEmitId = 0;
  /** How the stream ended; unset while it is open. */
  end: { readonly error?: unknown } | undefined;

  constructor(
    wire: Wire,
    readonly instanceId = "peer",
  ) {
    void this.#read(wire);
  }

  /** Registers as a good instance would, but for what is given, and resolves with the answer. */
  async register(more: MessageInitShape<typeof RegisterSchema> = {}): Promise<ValueOf<"registered">> {
    this.send({
      case: "register",
      value: { manifest: remoteManifest(), instanceId: this.instanceId, capacity: 4, ...more } as never,
    });
    return await this.next("registered");
  }

  send(message: Sent): void {
    this.#outgoing.push(create(ConnectRequestSchema, { message }));
    this.#wake();
  }

  /** Sends what has no message in it. */
  sendNothing(): void {
    this.#outgoing.push(create(ConnectRequestSchema));
    this.#wake();
  }

  /** Emits a text under the next `emit_id`, or under one that is given. */
  emit(executionId: string, text: string, more: { attempt?: number; emitId?: number } = {}): void {
    const { attempt = 1, emitId = ++this.#lastEmitId } = more;
    this.#lastEmitId = emitId;
    const events = [{ payload: { case: "outputTextDelta" as const, value: { text } } }];
    this.send({ case: "emit", value: { executionId, attempt, emitId, events } });
  }

  /** Ends a turn under the next `emit_id`. */
  finish(executionId: string, turn = 1, outcome: object = { result: { case: "success", value: {} } }): void {
    const value = { executionId, attempt: 1, emitId: ++this.#lastEmitId, turn, outcome };
    this.send({ case: "finish", value: value as never });
  }

  get nextEmitId(): number {
    return ++this.#lastEmitId;
  }

  /** Resolves with the next message of a kind that was not asked for before; rejects when the stream ends without. */
  async next<K extends Exclude<Received["case"], undefined>>(kind: K): Promise<ValueOf<K>> {
    for (;;) {
      const index = this.#received.findIndex((message) => message.case === kind);
      const [found] = index < 0 ? [] : this.#received.splice(index, 1);
      if (found !== undefined) return found.value as ValueOf<K>;
      if (this.end !== undefined) throw this.end.error ?? new Error(`the stream ended without ${kind}`);
      await this.#something();
    }
  }

  /** Resolves with the reason of the next refusal. */
  async refusal(): Promise<string> {
    for (;;) {
      const { error } = await this.next("ack");
      const [info] = (error?.details ?? []).map((detail) => anyUnpack(detail, ErrorInfoSchema));
      if (info !== undefined) return info.reason;
    }
  }

  /** Resolves with why the stream ended. */
  async ended(): Promise<unknown> {
    while (this.end === undefined) await this.#something();
    return this.end.error;
  }

  /** Ends its side of the stream. */
  close(): void {
    this.#isEnding = true;
    this.#wake();
  }

  /** Is gone without a word. */
  die(): void {
    this.#abort.abort();
  }

  #something(): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        this.#looks.delete(look);
        resolve();
      };
      this.#looks.add(look);
    });
  }

  #tell(): void {
    for (const look of [...this.#looks]) look();
  }

  async #read(wire: Wire): Promise<void> {
    try {
      for await (const { message } of wire.dial(this.#requests(), this.#abort.signal)) {
        this.#received.push(message);
        this.#tell();
      }
      this.end = {};
    } catch (error) {
      this.end = { error };
    }
    this.#tell();
  }

  async *#requests(): AsyncGenerator<ConnectRequest> {
    for (;;) {
      const request = this.#outgoing.shift();
      if (request !== undefined) yield request;
      else if (this.#isEnding) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
