import { create, fromBinary, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { ActionRequest, ActionResponseSchema } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { RespondActionRequestSchema } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import type { AttachmentSchema } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import { type Event, EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import {
  CancelExecutionRequestSchema,
  SendInputRequestSchema,
  StartExecutionRequestSchema,
} from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import type { Execution } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import type { ActionPolicySchema } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import { openRuntime } from "../../src/core/open-runtime.js";
import type { Caller, Runtime, RuntimeOptions } from "../../src/core/runtime.js";
import { openMemoryStore } from "../../src/store/memory.js";

const CALLER: Caller = { tenantId: "tenant", userId: "user" };
const WAIT_MS = 30_000;

/** A runtime of its own for a test, and what the test does with it in few words. */
export interface LiveRuntime {
  readonly runtime: Runtime;
  /** Starts an execution and follows it. */
  start(providerId: string, input: string, more?: StartOptions): Promise<LiveRun>;
  /** Follows an execution that was started before. */
  follow(executionId: string): Promise<LiveRun>;
  close(): Promise<void>;
}

export interface StartOptions {
  readonly conversationId?: string;
  readonly config?: JsonObject;
  readonly attachments?: MessageInitShape<typeof AttachmentSchema>[];
  readonly actionPolicy?: MessageInitShape<typeof ActionPolicySchema>;
}

/** Opens a runtime on a memory store, or on the one that is given. */
export async function openLiveRuntime(options: Partial<RuntimeOptions>): Promise<LiveRuntime> {
  const store = options.store ?? openMemoryStore();
  const runtime = await openRuntime({ store, ...options });
  return {
    runtime,
    async start(providerId, text, { attachments = [], ...more } = {}) {
      const request = create(StartExecutionRequestSchema, { providerId, input: { text, attachments }, ...more });
      return new LiveRun(runtime, await runtime.startExecution(CALLER, request));
    },
    async follow(executionId) {
      return new LiveRun(runtime, await runtime.getExecution(CALLER, executionId));
    },
    async close() {
      await runtime.close(0);
      if (options.store === undefined) await store.close();
    },
  };
}

type Payload = NonNullable<Event["payload"]>;
type PayloadCase = NonNullable<Payload["case"]>;
type ValueOf<C extends PayloadCase> = Extract<Payload, { case: C }>["value"];

/** One execution as its events tell it. */
export class LiveRun {
  readonly events: Event[] = [];
  readonly id: string;
  readonly conversationId: string;
  private readonly waiting = new Set<() => void>();
  private over = false;

  constructor(
    private readonly runtime: Runtime,
    execution: Execution,
  ) {
    this.id = execution.id;
    this.conversationId = execution.conversationId;
    void this.follow();
  }

  /** The values of all events of a kind so far. */
  all<C extends PayloadCase>(kind: C): ValueOf<C>[] {
    return this.events.flatMap(({ payload }) => (payload.case === kind ? [payload.value as ValueOf<C>] : []));
  }

  /** The text so far, of one turn or of all. */
  text(turn?: number): string {
    return this.events
      .filter((event) => turn === undefined || event.turn === turn)
      .map(({ payload }) => (payload.case === "outputTextDelta" ? payload.value.text : ""))
      .join("");
  }

  /** Resolves when `holds`; rejects where it does not within 30 s or by the execution's end. */
  async until(what: string, holds: (run: LiveRun) => boolean, limitMs = WAIT_MS): Promise<void> {
    const deadline = performance.now() + limitMs;
    while (!holds(this)) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0 || this.over) throw new Error(`${what}: not in ${JSON.stringify(this.summary())}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.waiting.add(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** Resolves with the nth action, from 1, once it is open. */
  async action(nth = 1, limitMs = WAIT_MS): Promise<ActionRequest> {
    await this.until(`action ${nth}`, (run) => run.all("actionRequired").length >= nth, limitMs);
    return this.all("actionRequired")[nth - 1]?.action as ActionRequest;
  }

  async respond(action: ActionRequest, response: MessageInitShape<typeof ActionResponseSchema>): Promise<void> {
    const request = { executionId: this.id, actionId: action.id, response };
    await this.runtime.respondAction(CALLER, create(RespondActionRequestSchema, request));
  }

  async send(text: string, mode: InputMode = InputMode.FOLLOW_UP): Promise<void> {
    await this.runtime.sendInput(
      CALLER,
      create(SendInputRequestSchema, { executionId: this.id, input: { text }, mode }),
    );
  }

  async cancel(reason = "enough"): Promise<void> {
    await this.runtime.cancelExecution(CALLER, create(CancelExecutionRequestSchema, { executionId: this.id, reason }));
  }

  /** Resolves with the execution once it is over. */
  async end(limitMs = WAIT_MS): Promise<Execution> {
    await this.until("the end", (run) => run.over, limitMs);
    return this.get();
  }

  get(): Promise<Execution> {
    return this.runtime.getExecution(CALLER, this.id);
  }

  /** What happened, for messages. */
  summary(): unknown {
    return this.events
      .slice(-20)
      .map(({ payload }) => [payload.case, JSON.stringify(payload.value ?? {}, bigints).slice(0, 200)]);
  }

  private wake(): void {
    const waiting = [...this.waiting];
    this.waiting.clear();
    for (const resolve of waiting) resolve();
  }

  private async follow(): Promise<void> {
    const options = { executionId: this.id, afterSequence: 0, eventTypes: [], maxBatch: 0, follow: true };
    const watcher = await this.runtime.watchEvents(CALLER, options);
    for (let batch = await watcher.next(); batch !== undefined; batch = await watcher.next()) {
      this.events.push(...decodeEvents(batch.bytes));
      this.over = batch.last;
      this.wake();
    }
    this.over = true;
    this.wake();
  }
}

function bigints(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
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
