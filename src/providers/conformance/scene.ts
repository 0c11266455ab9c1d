import { create, fromBinary, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { ActionRequest } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { RespondActionRequestSchema } from "../../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { type Event, EventSchema } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import {
  CancelExecutionRequestSchema,
  SendInputRequestSchema,
  StartExecutionRequestSchema,
} from "../../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import type { Execution } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import { type ProviderManifest, SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { Caller, Runtime } from "../../core/runtime.js";
import type { Situation, Situations } from "./situation.js";

/** What a check works with. */
export interface Scene {
  readonly runtime: Runtime;
  readonly caller: Caller;
  readonly providerId: string;
  readonly manifest: ProviderManifest;
  readonly situations: Situations;
  /** The longest that anything is waited for, in milliseconds. */
  readonly limitMs: number;
  /** Kills (−9) the processes that the provider started; unset where it has none, or that cannot be done. */
  readonly kill: (() => Promise<void>) | undefined;
  /** Looks at the processes that the provider started; unset where that cannot be done. */
  readonly processes: StartedProcesses | undefined;
  /** The same provider with noise in its harness's output; unset where that cannot be done. */
  readonly noisyProviderId: string | undefined;
  /** Every execution that a check started: all are looked at in the end. */
  readonly runs: CheckedRun[];
}

/** What a check sees of a provider's processes for itself: the provider's own word is what is checked. */
export interface StartedProcesses {
  /** The marks of all that is running now. */
  marks(): Promise<ReadonlySet<string>>;
  /** The living processes that carry one of these marks, one description each. */
  carrying(marks: ReadonlySet<string>): Promise<readonly string[]>;
}

/** Starts an execution and follows it. */
export async function startRun(
  scene: Scene,
  situation: Situation,
  { conversationId = "", providerId = scene.providerId } = {},
): Promise<CheckedRun> {
  const request = create(StartExecutionRequestSchema, {
    ...{ providerId, conversationId },
    input: { text: situation.input },
    ...(situation.config === undefined ? {} : { config: situation.config }),
  });
  const run = new CheckedRun(scene, await scene.runtime.startExecution(scene.caller, request));
  scene.runs.push(run);
  return run;
}

/** The level that the manifest declares. */
export function levelOf({ manifest }: Scene, capability: string): SupportLevel {
  return manifest.capabilities[capability] ?? SupportLevel.UNSUPPORTED;
}

/** Fails a check. */
export function fail(message: string): never {
  throw new Error(message);
}

/** An execution that a check started, as its events tell it. */
export class CheckedRun {
  readonly events: Event[] = [];
  readonly id: string;
  readonly conversationId: string;
  private readonly waiting = new Set<() => void>();
  private over = false;
  private broken: unknown;

  constructor(
    private readonly scene: Scene,
    execution: Execution,
  ) {
    this.id = execution.id;
    this.conversationId = execution.conversationId;
    void this.follow();
  }

  /** The events of one kind so far. */
  count(kind: Event["payload"]["case"]): number {
    return this.events.filter(({ payload }) => payload.case === kind).length;
  }

  /** The text so far. */
  get text(): string {
    return this.events.map(({ payload }) => (payload.case === "outputTextDelta" ? payload.value.text : "")).join("");
  }

  get isOver(): boolean {
    return this.over;
  }

  /** Resolves once `holds`; fails where it never will, or does not in time. */
  async until(what: string, holds: () => boolean): Promise<void> {
    const deadline = performance.now() + this.scene.limitMs;
    while (!holds()) {
      const leftMs = deadline - performance.now();
      if (this.broken !== undefined) this.failAsBroken();
      if (this.over) fail(`the execution ended before this: ${what}`);
      if (leftMs <= 0) fail(`not within ${this.scene.limitMs} ms: ${what}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.waiting.add(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** Resolves with the first open action. */
  async action(): Promise<ActionRequest> {
    await this.until("an action is opened", () => this.count("actionRequired") > 0);
    const event = this.events.find(({ payload }) => payload.case === "actionRequired");
    const action = event?.payload.case === "actionRequired" ? event.payload.value.action : undefined;
    return action ?? fail("action_required has no action");
  }

  /** Resolves with the execution once it has ended and its last event was seen. */
  async end(): Promise<Execution> {
    await this.until("it ends", () => this.over);
    if (this.broken !== undefined) this.failAsBroken();
    return this.scene.runtime.getExecution(this.scene.caller, this.id);
  }

  async respond(actionId: string, answer: { approved?: boolean; value?: JsonValue }): Promise<void> {
    const { approved, value } = answer;
    const response = {
      ...(approved === undefined ? {} : { approved }),
      ...(value === undefined ? {} : { value: fromJson(ValueSchema, value) }),
    };
    const request = create(RespondActionRequestSchema, { executionId: this.id, actionId, response });
    await this.scene.runtime.respondAction(this.scene.caller, request);
  }

  async send({ input }: Situation, mode: InputMode): Promise<void> {
    const request = create(SendInputRequestSchema, { executionId: this.id, input: { text: input }, mode });
    await this.scene.runtime.sendInput(this.scene.caller, request);
  }

  async cancel(reason = "conformance"): Promise<void> {
    const request = create(CancelExecutionRequestSchema, { executionId: this.id, reason });
    await this.scene.runtime.cancelExecution(this.scene.caller, request);
  }

  /** Reads the events after a sequence again, up to the head. */
  async replay(afterSequence: number): Promise<Event[]> {
    const events: Event[] = [];
    for await (const some of this.read(afterSequence, false)) events.push(...some);
    return events;
  }

  private async follow(): Promise<void> {
    try {
      for await (const some of this.read(0, true)) {
        this.events.push(...some);
        this.wake();
      }
    } catch (error) {
      this.broken = error;
    } finally {
      this.over = true;
      this.wake();
    }
  }

  private failAsBroken(): never {
    fail(`the events could not be read to the end: ${String(this.broken)}`);
  }

  private wake(): void {
    const waiting = [...this.waiting];
    this.waiting.clear();
    for (const resolve of waiting) resolve();
  }

  private async *read(afterSequence: number, follow: boolean): AsyncGenerator<Event[]> {
    const options = { executionId: this.id, afterSequence, eventTypes: [], maxBatch: 0, follow };
    const watcher = await this.scene.runtime.watchEvents(this.scene.caller, options);
    for (let batch = await watcher.next(); batch !== undefined; batch = await watcher.next()) {
      yield decodeEvents(batch.bytes);
    }
  }
}

/** Decodes a `repeated Event` with the field number 1. */
function decodeEvents(bytes: Uint8Array): Event[] {
  const reader = new BinaryReader(bytes);
  const events: Event[] = [];
  while (reader.pos < reader.len) {
    reader.tag();
    events.push(fromBinary(EventSchema, reader.bytes()));
  }
  return events;
}
