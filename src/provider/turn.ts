import { create, type JsonObject, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { EmitSchema, RequestActionSchema, type Run } from "../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import type { ArtifactSchema } from "../../gen/ts/harnessruntime/v1/artifact_pb.js";
import { type Content, ContentSchema } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import { type Event, EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { type Execution, ExecutionSchema } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { checkEmission } from "../core/check-emission.js";
import { invalid, isHarnessError } from "../core/errors.js";
import { MAX_KEY_LENGTH, MAX_RESUME_STATE_BYTES } from "../core/limits.js";
import type {
  ActionAnswer,
  ActionInit,
  EmitExtra,
  HistoryItem,
  Log,
  ProviderContext,
  ProviderEvent,
  ResumeInfo,
  Steer,
} from "../core/provider.js";
import { ProtocolViolationError } from "../core/violation.js";
import type { Answers } from "./answers.js";
import type { RemoteProvider } from "./define-provider.js";
import { toResumeInfo } from "./messages.js";
import type { Outbox, OutboxMessage } from "./outbox.js";
import { toActionRequest } from "./outcome.js";

/** The events of one message, encoded, in bytes. A message may be four times as large. */
const MAX_EMIT_BYTES = 1 << 20;

/** The attempt that a turn belongs to. */
export interface TurnOwner {
  readonly executionId: string;
  readonly provider: RemoteProvider;
  readonly log: Log;
  readonly outbox: Outbox;
  readonly answers: Answers;
  readonly history: readonly HistoryItem[];
  scratchDir(): Promise<string>;
  saveResumeState(state: Uint8Array): void;
  /** The state that goes with the next message. */
  takeResumeState(): Uint8Array | undefined;
  /** Nobody waits for the turn's answers any more. */
  abandonQuestions(error: Error): void;
  /** The provider broke the contract: the execution fails, whatever it makes of the error. */
  violate(message: string): void;
  /** There is something to send. */
  wake(): void;
}

/** One turn's context, as its provider sees it. */
export class RemoteTurn implements ProviderContext {
  readonly execution: Execution;
  readonly attempt: number;
  readonly turn: number;
  readonly revision: number;
  readonly input: Content;
  readonly config: JsonObject;
  readonly resume: ResumeInfo | undefined;
  /** Always false: a provider's own process is what goes on. */
  readonly reattached = false;
  readonly #owner: TurnOwner;
  readonly #abort = new AbortController();
  readonly #steers: Steer[] = [];
  #wakeSteers: (() => void) | undefined;
  #isOver = false;

  constructor(owner: TurnOwner, run: Run) {
    this.#owner = owner;
    this.execution = run.execution ?? create(ExecutionSchema);
    this.attempt = run.attempt;
    this.turn = run.turn;
    this.revision = run.revision;
    this.input = run.input ?? create(ContentSchema);
    this.config = this.execution.effectiveConfig ?? {};
    this.resume = toResumeInfo(run);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }
  get log(): Log {
    return this.#owner.log;
  }
  /** Whether the provider has returned. */
  get isOver(): boolean {
    return this.#isOver;
  }

  async history(): Promise<readonly HistoryItem[]> {
    return this.#owner.history;
  }

  scratchDir(): Promise<string> {
    return this.#owner.scratchDir();
  }

  /** The turn must end: what waits in it is rejected. */
  abort(reason: Error): void {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort(reason);
    this.#owner.abandonQuestions(reason);
    this.#wakeSteers?.();
  }

  /** The provider has returned: there are no more steers. */
  end(): void {
    this.#isOver = true;
    this.#wakeSteers?.();
  }

  /** Hands over a steer. */
  steer(steer: Steer): void {
    this.#steers.push(steer);
    this.#wakeSteers?.();
  }

  /** A provider that does not wait for each of its events hears of a refusal by the end of the turn alone. */
  emit(events: ProviderEvent | readonly ProviderEvent[], extra: EmitExtra = {}): Promise<void> {
    const stored = this.#emit(events, extra);
    stored.catch(() => undefined);
    return stored;
  }

  artifact(descriptor: MessageInitShape<typeof ArtifactSchema>): Promise<void> {
    return this.emit([], { artifacts: [descriptor] });
  }

  async #emit(
    events: ProviderEvent | readonly ProviderEvent[],
    { artifacts = [], resumeState }: EmitExtra,
  ): Promise<void> {
    if (resumeState !== undefined) this.saveResumeState(resumeState);
    const list = Array.isArray(events) ? (events as readonly ProviderEvent[]) : [events as ProviderEvent];
    const encoded = this.#guard(() =>
      list.flatMap((event) => checkEmission(event, this.#owner.provider.manifest)).map(toEvent),
    );
    const batches = batched(encoded);
    const last = batches.pop() ?? { events: [], sizeBytes: 0 };
    const stored = batches.map((batch) => this.#send(batch, [], undefined));
    stored.push(this.#send(last, [...artifacts], this.#owner.takeResumeState()));
    await Promise.all(stored);
  }

  saveResumeState(state: Uint8Array): void {
    if (state.length > MAX_RESUME_STATE_BYTES) {
      throw invalid("resume_state", `it is ${state.length} bytes and may be ${MAX_RESUME_STATE_BYTES}`);
    }
    this.#owner.saveResumeState(state);
  }

  async requestAction(init: ActionInit): Promise<ActionAnswer> {
    this.signal.throwIfAborted();
    const { answers, outbox, executionId } = this.#owner;
    const { key } = init;
    if (typeof key !== "string" || key === "" || key.length > MAX_KEY_LENGTH) {
      return this.#guard(() => {
        throw new ProtocolViolationError(`an action's key has 1 to ${MAX_KEY_LENGTH} characters`);
      });
    }
    const known = answers.known(key);
    if (known !== undefined) return known;
    const isAsked = answers.isAsked(key);
    const answer = answers.wait(key);
    if (!isAsked) {
      const action = toActionRequest(init);
      const { attempt } = this;
      const sent = outbox.add((emitId) => ({
        case: "requestAction",
        value: create(RequestActionSchema, { executionId, attempt, emitId, key, action }),
      }));
      sent.catch((error: Error) => answers.refuse(key, error));
      this.#owner.wake();
    }
    return await answer;
  }

  async *steers(): AsyncIterable<Steer> {
    while (!this.#isOver && !this.signal.aborted) {
      const steer = this.#steers.shift();
      if (steer === undefined) await this.#steerOrEnd();
      else yield steer;
    }
  }

  #steerOrEnd(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeSteers = () => {
        this.#wakeSteers = undefined;
        resolve();
      };
      if (this.#isOver || this.signal.aborted || this.#steers.length > 0) this.#wakeSteers();
    });
  }

  #send(
    { events, sizeBytes }: Batch,
    artifacts: MessageInitShape<typeof ArtifactSchema>[],
    resumeState: Uint8Array | undefined,
  ): Promise<void> {
    const { executionId, outbox } = this.#owner;
    const { attempt } = this;
    const joined = artifacts.length === 0 ? outbox.join(events, sizeBytes, resumeState) : undefined;
    if (joined !== undefined) return joined;
    const toMessage = (emitId: number): OutboxMessage => {
      const state = resumeState === undefined ? {} : { resumeState: Uint8Array.from(resumeState) };
      return { case: "emit", value: create(EmitSchema, { executionId, attempt, emitId, events, artifacts, ...state }) };
    };
    const stored = outbox.add(toMessage, sizeBytes);
    this.#owner.wake();
    return stored;
  }

  /** Runs a check; a violation fails the execution before it is thrown. */
  #guard<T>(check: () => T): T {
    try {
      return check();
    } catch (error) {
      if (error instanceof ProtocolViolationError && !isHarnessError(error)) this.#owner.violate(error.message);
      throw error;
    }
  }
}

function toEvent(payload: ReturnType<typeof checkEmission>[number]): Event {
  return create(EventSchema, { payload });
}

/** Events of one message, and what they take, encoded. */
interface Batch {
  readonly events: Event[];
  sizeBytes: number;
}

/** Splits events into messages of a bearable size. */
function batched(events: readonly Event[]): Batch[] {
  const batches: Batch[] = [];
  for (const event of events) {
    const sizeBytes = toBinary(EventSchema, event).length;
    const last = batches.at(-1);
    if (last === undefined || last.sizeBytes + sizeBytes > MAX_EMIT_BYTES) batches.push({ events: [event], sizeBytes });
    else {
      last.events.push(event);
      last.sizeBytes += sizeBytes;
    }
  }
  return batches;
}
