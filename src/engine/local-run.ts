import { create } from "@bufbuild/protobuf";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import {
  CancelExecutionRequestSchema,
  SendInputRequestSchema,
} from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { decodeChunk, type EventChunk, filterChunk } from "../core/chunk.js";
import type { Clock } from "../core/clock.js";
import { HarnessError } from "../core/errors.js";
import { parseEventTypes } from "../core/event-name.js";
import type { Runtime, Watcher } from "../core/runtime.js";
import { toContentInit } from "./contract-values.js";
import type { LocalRunLink } from "./engine-host.js";
import { HarnessUnsupportedError } from "./errors.js";
import type { HarnessEvent } from "./event.js";
import { isTerminalKind, toHarnessEvent } from "./event-mapping.js";
import type { HarnessIdentity, HarnessSendMode } from "./identity.js";
import type { MessageContent } from "./message.js";
import { isRefusal, refusedStart } from "./refused-start.js";
import type { HarnessArtifactRef, HarnessResult } from "./result.js";
import type { RunHandle } from "./run-handle.js";
import { RunLog } from "./run-log.js";
import { toResult } from "./terminal-result.js";

/** What a run that this process starts is made of. */
export interface LocalRunOptions {
  readonly runId: string;
  readonly identity: HarnessIdentity;
  readonly sessionId: string;
  readonly deadline: number | undefined;
  readonly onConflict: "refuse" | "queue";
  readonly parentRunId: string | undefined;
  readonly rootRunId: string | undefined;
  readonly eventCapacity: number | undefined;
  readonly controls: readonly HarnessSendMode[];
  readonly runtime: Promise<Runtime>;
  readonly clock: Clock;
  /** Creates the execution, with the session's conversation. */
  readonly start: (runtime: Runtime) => Promise<void>;
  /** Everything is over. */
  readonly onSettled: () => void;
}

const MODES: Readonly<Record<HarnessSendMode, InputMode>> = {
  follow_up: InputMode.FOLLOW_UP,
  steer: InputMode.STEER,
  replace: InputMode.REPLACE,
};

/** The events that say something of the run's result. */
const TELLING = parseEventTypes(["artifact.created", "run.completed", "run.failed", "run.cancelled"]) ?? new Set();

/** One run of an embedded runtime, as its starter holds it. */
export class LocalRun implements RunHandle, LocalRunLink {
  readonly runId: string;
  readonly #options: LocalRunOptions;
  readonly #log: RunLog;
  readonly #admitted = Promise.withResolvers<void>();
  readonly #cleaned = Promise.withResolvers<readonly string[]>();
  readonly #result = Promise.withResolvers<HarnessResult>();
  readonly #artifacts: HarnessArtifactRef[] = [];
  #entered = false;
  #over = false;
  #cancel: { readonly reason: string } | undefined;

  constructor(options: LocalRunOptions) {
    this.runId = options.runId;
    this.#options = options;
    this.#log = new RunLog(options.eventCapacity);
    this.#admitted.promise.catch(() => {});
    this.#result.promise.catch(() => {});
    void this.#live();
  }

  get sessionId(): string {
    return this.#options.sessionId;
  }
  get identity(): HarnessIdentity {
    return this.#options.identity;
  }
  get deadline(): number | undefined {
    return this.#options.deadline;
  }
  get onConflict(): "refuse" | "queue" {
    return this.#options.onConflict;
  }
  get parentRunId(): string | undefined {
    return this.#options.parentRunId;
  }
  get rootRunId(): string | undefined {
    return this.#options.rootRunId;
  }
  get admitted(): Promise<void> {
    return this.#admitted.promise;
  }

  entered(): void {
    this.#entered = true;
  }

  settled(diagnostics: readonly string[]): void {
    this.#cleaned.resolve(diagnostics);
  }

  events(options: { after?: number } = {}): AsyncGenerator<HarnessEvent> {
    return this.#log.view(options.after ?? 0);
  }

  async result(): Promise<HarnessResult> {
    return structuredClone(await this.#result.promise);
  }

  cancel(reason = ""): void {
    if (this.#over || this.#cancel !== undefined) return;
    this.#cancel = { reason: reason.slice(0, 500) };
    // Before the start is recorded, the start itself sees to it.
    void this.#admitted.promise.then(() => this.#sendCancel()).catch(() => {});
  }

  async send(input: MessageContent, { mode }: { mode: HarnessSendMode }): Promise<void> {
    const content = toContentInit(structuredClone(input));
    if (!this.#options.controls.includes(mode)) {
      throw new HarnessUnsupportedError(mode, "the driver does not declare it");
    }
    if (this.#over || this.#cancel !== undefined) {
      throw new HarnessError(ErrorReason.INVALID_STATE, `the run ${this.runId} takes no more input`, {
        state: this.#over ? "terminal" : "CANCELLING",
      });
    }
    const runtime = await this.#options.runtime;
    await this.#admitted.promise;
    const request = create(SendInputRequestSchema, { executionId: this.runId, input: content, mode: MODES[mode] });
    await runtime.sendInput(this.#options.identity, request);
  }

  async #live(): Promise<void> {
    let admitted = false;
    try {
      const runtime = await this.#options.runtime;
      await this.#options.start(runtime);
      admitted = true;
      if (this.#cancel !== undefined) await this.#sendCancel();
      this.#admitted.resolve();
      await this.#follow(runtime);
    } catch (error) {
      this.#over = true;
      this.#admitted.reject(error);
      // What an admitted run comes to is in its log alone.
      if (!admitted && isRefusal(error)) return this.#refused(error);
      this.#log.fail(error);
      this.#result.reject(error);
    } finally {
      this.#over = true;
      this.#options.onSettled();
    }
  }

  /** Ends a run that never was. */
  #refused(error: HarnessError): void {
    const { sessionId, clock } = this.#options;
    const event = refusedStart(this.runId, error, this.#cancel?.reason, clock.now());
    const result = toResult(event, { sessionId, artifacts: [], diagnostics: [] });
    this.#log.push(toHarnessEvent(event, sessionId, () => result));
    this.#log.end();
    this.#result.resolve(result);
  }

  async #sendCancel(): Promise<void> {
    const runtime = await this.#options.runtime;
    const request = create(CancelExecutionRequestSchema, {
      executionId: this.runId,
      reason: this.#cancel?.reason ?? "",
    });
    await runtime.cancelExecution(this.#options.identity, request);
  }

  /** Takes over the run's log until its end. */
  async #follow(runtime: Runtime): Promise<void> {
    const { identity } = this.#options;
    const options = { executionId: this.runId, afterSequence: 0, eventTypes: [], maxBatch: 0, follow: true };
    const watcher: Watcher = await runtime.watchEvents(identity, options);
    try {
      let lastSequence = 0;
      for (let batch = await watcher.next(); batch !== undefined; batch = await watcher.next()) {
        const { bytes, nextAfterSequence } = batch;
        if (bytes.length > 0)
          await this.#take({ firstSequence: lastSequence + 1, lastSequence: nextAfterSequence, bytes });
        lastSequence = nextAfterSequence;
        if (batch.last) return;
      }
      throw new Error("the runtime was closed before the run ended");
    } finally {
      watcher.close();
    }
  }

  async #take(chunk: EventChunk): Promise<void> {
    const { sessionId } = this.#options;
    if (filterChunk(chunk, TELLING).length === 0) {
      const count = chunk.lastSequence - chunk.firstSequence + 1;
      this.#log.defer(count, () => decodeChunk(chunk).map((event) => toHarnessEvent(event, sessionId, noResult)));
      return;
    }
    for (const event of decodeChunk(chunk)) {
      const { payload } = event;
      if (payload.case === "artifactCreated") {
        this.#artifacts.push({
          id: payload.value.artifact?.id ?? "",
          mimeType: payload.value.artifact?.mediaType ?? "",
        });
      }
      const diagnostics = isTerminalKind(payload.case) ? await this.#finish() : [];
      const shown = toHarnessEvent(event, sessionId, () =>
        toResult(event, { sessionId, artifacts: this.#artifacts, diagnostics }),
      );
      this.#log.push(shown);
      if (shown.payload.type !== "run.terminal") continue;
      this.#log.end();
      this.#result.resolve(shown.payload.result);
    }
  }

  /** Waits for what the end of the run still has to do, so that its result can say how that went. */
  async #finish(): Promise<readonly string[]> {
    this.#over = true;
    return this.#entered ? await this.#cleaned.promise : [];
  }
}

/** For events that end nothing. */
function noResult(): never {
  throw new RangeError("the event does not end its run");
}
