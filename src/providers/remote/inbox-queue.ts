import type { Emit } from "../../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import { type Flow, roughBytes } from "./flow.js";
import type { OutboxMessage } from "./outbox-message.js";

/** The events that are appended in one write. */
const MAX_BATCH_EVENTS = 512;
const MAX_BATCH_BYTES = 1 << 20;

interface Queued {
  readonly message: OutboxMessage;
  readonly bytes: number;
}

/** What was taken of one attempt's outbox and is not dealt with yet, counted against its instance's stream. */
export class InboxQueue {
  readonly #flow: Flow;
  readonly #queue: Queued[] = [];
  #bytes = 0;

  constructor(flow: Flow) {
    this.#flow = flow;
  }

  /** About how much memory it takes, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  push(message: OutboxMessage): void {
    const bytes = roughBytes(message.value);
    this.#queue.push({ message, bytes });
    this.#bytes += bytes;
    this.#flow.hold(bytes);
  }

  /** Returns the emits at its head that fit one write; one with artifacts is the last of them. */
  leadingEmits(): readonly Emit[] {
    const emits: Emit[] = [];
    let events = 0;
    let bytes = 0;
    for (const queued of this.#queue) {
      const { message } = queued;
      if (message.case !== "emit") break;
      events += message.value.events.length;
      bytes += queued.bytes;
      if (emits.length > 0 && (events > MAX_BATCH_EVENTS || bytes > MAX_BATCH_BYTES)) break;
      emits.push(message.value);
      if (message.value.artifacts.length > 0) break;
    }
    return emits;
  }

  clear(): void {
    this.shift(this.#queue.length);
  }

  /** Takes out the first `count` messages. */
  shift(count: number): readonly OutboxMessage[] {
    const shifted = this.#queue.splice(0, count);
    const bytes = shifted.reduce((sum, queued) => sum + queued.bytes, 0);
    this.#bytes -= bytes;
    this.#flow.release(bytes);
    return shifted.map(({ message }) => message);
  }
}
