import { create, fromBinary, type JsonObject, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type Artifact, ArtifactSchema } from "../../gen/ts/harnessruntime/v1/artifact_pb.js";
import { type Content, ContentSchema } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import type { Execution } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { ProviderManifest } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { ActionDesk } from "./action-desk.js";
import { supports } from "./capability.js";
import { checkEmission } from "./check-emission.js";
import type { Clock } from "./clock.js";
import { decideEmit } from "./decide-emit.js";
import { decideSteer } from "./decide-input.js";
import { nothing } from "./decision.js";
import { invalid, isHarnessError } from "./errors.js";
import { type Fold, toExecution } from "./fold.js";
import { isTerminal } from "./lifecycle.js";
import { MAX_DESCRIPTOR_BYTES, MAX_RESUME_STATE_BYTES } from "./limits.js";
import type { TurnText } from "./outcome.js";
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
} from "./provider.js";
import type { Store } from "./store.js";
import { deltasOf, type TextCollector } from "./turn-text.js";
import { ProtocolViolationError } from "./violation.js";
import { wellFormed } from "./well-formed.js";
import type { Writer } from "./writer.js";

/** What a turn is made of; the runner owns all of it. */
export interface TurnOptions {
  readonly store: Store;
  readonly writer: Writer;
  /** The fold that the turn is in: the next turn may begin while its context is made. */
  readonly fold: Fold;
  readonly fence: number;
  readonly manifest: ProviderManifest;
  readonly clock: Clock;
  readonly log: Log;
  readonly desk: ActionDesk;
  readonly input: Content;
  readonly resume: ResumeInfo | undefined;
  readonly reattached: boolean;
  readonly text: TextCollector;
  readonly history: () => Promise<readonly HistoryItem[]>;
  readonly scratchDir: () => Promise<string>;
  /** The provider broke the contract: fails the execution. */
  readonly onViolation: (message: string) => void;
  /** Something was decided that a budget may forbid. */
  readonly onEmitted: (fold: Fold) => void;
}

/** Whoever iterates over a turn's steers. */
interface SteerReader {
  left: boolean;
}

/** One turn's context, as its provider sees it. */
export class Turn implements ProviderContext {
  readonly execution: Execution;
  readonly attempt: number;
  readonly turn: number;
  readonly revision: number;
  readonly config: JsonObject;
  readonly #options: TurnOptions;
  readonly #abort = new AbortController();
  #over = false;
  /** Settles once all that was emitted so far is stored or refused. */
  #emitted: Promise<unknown> = Promise.resolve();
  /** Saved, and not in any write yet. */
  #resumeState: Uint8Array | undefined;
  /** How many states there were: one that was refused is not put back over a newer one. */
  #resumeStates = 0;
  #wakeSteers: (() => void) | undefined;
  /** Something changed since the steers were last looked at. */
  #hinted = false;

  constructor(options: TurnOptions) {
    this.#options = options;
    this.execution = toExecution(options.fold);
    this.attempt = this.execution.attempt;
    this.turn = this.execution.turn;
    this.revision = options.fold.inner.revision;
    this.config = this.execution.effectiveConfig ?? {};
  }

  get input(): Content {
    return this.#options.input;
  }
  get signal(): AbortSignal {
    return this.#abort.signal;
  }
  get resume(): ResumeInfo | undefined {
    return this.#options.resume;
  }
  get reattached(): boolean {
    return this.#options.reattached;
  }
  get log(): Log {
    return this.#options.log;
  }

  history(): Promise<readonly HistoryItem[]> {
    return this.#options.history();
  }

  scratchDir(): Promise<string> {
    return this.#options.scratchDir();
  }

  /** Aborts the turn: what waits in it is rejected with `reason`. */
  abort(reason: Error): void {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort(reason);
    this.#options.desk.rejectAll(reason);
    this.#wakeSteers?.();
  }

  /** The turn is over: it takes no more steers. */
  end(): void {
    this.#over = true;
    this.#wakeSteers?.();
  }

  /** Returns the text emitted so far, as much of it as is stored; waits for what is under way. */
  async collectText(): Promise<TurnText> {
    await this.#emitted;
    return this.#options.text.text;
  }

  async emit(events: ProviderEvent | readonly ProviderEvent[], extra: EmitExtra = {}): Promise<void> {
    const { writer, manifest, clock, fence, text } = this.#options;
    if (isTerminal(writer.head.execution.state)) return;
    const list = Array.isArray(events) ? (events as readonly ProviderEvent[]) : [events as ProviderEvent];
    const payloads = this.#guard(() => list.flatMap((event) => checkEmission(event, manifest)));
    const artifacts = this.#guard(() => (extra.artifacts ?? []).map((descriptor) => this.#checkArtifact(descriptor)));
    const deltas = deltasOf(payloads); // Now: what is emitted is its provider's again before it is stored.
    const saved = this.#resumeState;
    if (extra.resumeState !== undefined) this.saveResumeState(extra.resumeState);
    const states = this.#resumeStates;
    const emission = { payloads, artifacts, mark: extra.mark, resumeState: this.#takeResumeState() };
    const stored = writer
      .decide((fold) => decideEmit(fold, emission, clock.now()), fence)
      .then((recorded) => {
        if (recorded) text.add(deltas);
      });
    this.#emitted = stored.catch(() => undefined);
    this.#options.onEmitted(writer.head);
    try {
      await stored;
    } catch (error) {
      // What was saved for the next write goes with the one after; what was given for this one is the caller's again.
      if (saved !== undefined && states === this.#resumeStates) this.#resumeState = saved;
      this.#latch(error);
      throw error;
    }
  }

  async requestAction(request: ActionInit): Promise<ActionAnswer> {
    this.signal.throwIfAborted();
    try {
      return await this.#options.desk.request(wellFormed(request));
    } catch (error) {
      this.#latch(error);
      throw error;
    }
  }

  steers(): AsyncIterable<Steer> {
    const reader: SteerReader = { left: false };
    const steers = this.#steersFor(reader);
    return {
      [Symbol.asyncIterator]: () => ({
        next: () => steers.next(),
        // One that waits for a steer is let go first: it takes none any more.
        return: () => {
          reader.left = true;
          this.#wakeSteers?.();
          return steers.return(undefined);
        },
      }),
    };
  }

  async *#steersFor(reader: SteerReader): AsyncGenerator<Steer, undefined> {
    this.#guard(() => {
      if (supports(this.#options.manifest, "input.steer")) return;
      throw new ProtocolViolationError("steers need the capability input.steer, which the manifest does not have");
    });
    while (!this.#takesNone(reader)) {
      this.#hinted = false;
      const steer = await this.#takeSteer(reader);
      if (steer === undefined) await this.#steerOrEnd(reader);
      else yield steer;
    }
    return undefined;
  }

  #takesNone(reader: SteerReader): boolean {
    return reader.left || this.#over || this.signal.aborted;
  }

  async artifact(descriptor: MessageInitShape<typeof ArtifactSchema>): Promise<void> {
    await this.emit([], { artifacts: [descriptor] });
  }

  saveResumeState(state: Uint8Array): void {
    if (state.length > MAX_RESUME_STATE_BYTES) {
      throw invalid("resume_state", `it is ${state.length} bytes and may be ${MAX_RESUME_STATE_BYTES}`);
    }
    this.#resumeState = Uint8Array.from(state);
    this.#resumeStates++;
  }

  /** Tells the provider's iterator of steers that there may be one. */
  follow(): void {
    this.#hinted = true;
    this.#wakeSteers?.();
  }

  #takeResumeState(): Uint8Array | undefined {
    const resumeState = this.#resumeState;
    this.#resumeState = undefined;
    return resumeState;
  }

  async #takeSteer(reader: SteerReader): Promise<Steer | undefined> {
    const { writer, fence, clock, store } = this.#options;
    const steer = await writer.decide(
      (fold) => (this.#takesNone(reader) ? nothing(fold, undefined) : decideSteer(fold, clock.now())),
      fence,
    );
    if (steer === undefined) return undefined;
    const key = { tenantId: this.execution.tenantId, executionId: this.execution.id };
    const row = await store.getInput(key, steer.inputId);
    return row === undefined
      ? undefined
      : Object.assign(fromBinary(ContentSchema, row.bytes), { inputId: steer.inputId });
  }

  #steerOrEnd(reader: SteerReader): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeSteers = () => {
        this.#wakeSteers = undefined;
        resolve();
      };
      if (this.#takesNone(reader) || this.#hinted) this.#wakeSteers();
    });
  }

  #checkArtifact(descriptor: MessageInitShape<typeof ArtifactSchema>): Artifact {
    let artifact: Artifact;
    let sizeBytes: number;
    try {
      const clean = wellFormed(descriptor);
      artifact = create(ArtifactSchema, clean as MessageInitShape<typeof ArtifactSchema> & { $typeName?: never });
      artifact.executionId = this.execution.id;
      artifact.createTime = timestampFromMs(this.#options.clock.now());
      sizeBytes = toBinary(ArtifactSchema, artifact).length;
    } catch (error) {
      throw new ProtocolViolationError(
        `the artifact cannot be encoded: ${error instanceof Error ? error.message : error}`,
      );
    }
    if (!supports(this.#options.manifest, "artifact.list")) {
      throw new ProtocolViolationError(
        "an artifact needs the capability artifact.list, which the manifest does not have",
      );
    }
    if (artifact.id === "" || artifact.name === "" || artifact.mediaType === "") {
      throw new ProtocolViolationError("an artifact has an id, a name and a media type");
    }
    if (sizeBytes <= MAX_DESCRIPTOR_BYTES) return artifact;
    throw invalid(
      "artifact",
      `it is ${sizeBytes} bytes and a descriptor is at most ${MAX_DESCRIPTOR_BYTES}; it carries no bytes of the artifact itself`,
    );
  }

  /** Runs a check; a violation is remembered before it is thrown. */
  #guard<T>(check: () => T): T {
    try {
      return check();
    } catch (error) {
      this.#latch(error);
      throw error;
    }
  }

  #latch(error: unknown): void {
    if (error instanceof ProtocolViolationError && !isHarnessError(error)) this.#options.onViolation(error.message);
  }
}
