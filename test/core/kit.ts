import { create, equals, fromBinary, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { afterEach, expect } from "vitest";
import type { ActionRequest, ActionResponseSchema } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import {
  ListActionsRequestSchema,
  RespondActionRequestSchema,
} from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import {
  CancelExecutionRequestSchema,
  SendInputRequestSchema,
  StartExecutionRequestSchema,
} from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { type Execution, ExecutionSchema } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { ProviderManifestSchema, SupportLevel, Topology } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { decodeChunk } from "../../src/core/chunk.js";
import type { Clock } from "../../src/core/clock.js";
import { nameOf } from "../../src/core/event-name.js";
import type { Ids } from "../../src/core/ids.js";
import { openRuntime } from "../../src/core/open-runtime.js";
import type { Provider, ProviderContext, TurnOutcome } from "../../src/core/provider.js";
import type {
  AcceptedInput,
  Caller,
  Runtime,
  RuntimeOptions,
  WatchBatch,
  WatchOptions,
} from "../../src/core/runtime.js";
import type { Store } from "../../src/core/store.js";
import { scriptedProvider } from "../../src/providers/scripted/scripted.js";
import { openMemoryStore } from "../../src/store/memory.js";
import { CrashableStore } from "./crashable-store.js";
import { FakeClock } from "./fake-clock.js";
import { checkInvariants } from "./invariants.js";

/** Everything that a provider may have, NATIVE. */
const ALL = [
  "action.approval",
  "action.input",
  "artifact.list",
  "event.replay",
  "event.streaming",
  "execution.cancel",
  "execution.resume",
  "input.follow_up",
  "input.replace",
  "input.steer",
  "policy.completion",
  "policy.grants",
  "policy.plan",
];

/** The caller that tests are unless they say otherwise. */
export const CALLER: Caller = { tenantId: "local", userId: "tester" };

/** Returns the manifest of a test's provider; `levels` writes over single capabilities. */
export function manifest(
  id: string,
  levels: Readonly<Record<string, SupportLevel>> = {},
  topology = Topology.EMBEDDED,
) {
  return create(ProviderManifestSchema, {
    id,
    name: id,
    version: "1.0.0",
    protocolVersion: "2026-09-02",
    topologies: [topology],
    capabilities: { ...Object.fromEntries(ALL.map((name) => [name, SupportLevel.NATIVE])), ...levels },
  });
}

/** Makes a provider of one function. */
export function provider(
  run: (context: ProviderContext) => Promise<TurnOutcome | undefined | unknown>,
  more: Partial<Provider> = {},
): Provider {
  return { manifest: manifest("test"), run: run as Provider["run"], ...more };
}

/** Counts instead of drawing: `exe_1`, `act_1`, … */
export function countingIds(): Ids {
  const counts = new Map<string, number>();
  return {
    next(kind) {
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      return `${kind.slice(0, 3)}_${String(count).padStart(6, "0")}`;
    },
  };
}

export interface KitOptions extends Partial<Omit<RuntimeOptions, "store" | "clock">> {
  readonly clock?: Clock;
  readonly inner?: Store;
}

/** A runtime under test, over a store that a test can crash. */
export class Kit {
  readonly clock: Clock;
  readonly #inner: Store;
  readonly #options: KitOptions;
  store: CrashableStore;
  runtime!: Runtime;

  constructor(options: KitOptions) {
    this.#options = { ids: countingIds(), node: "node-1", providers: [scriptedProvider()], ...options };
    this.clock = options.clock ?? new FakeClock();
    this.#inner = options.inner ?? openMemoryStore();
    this.store = new CrashableStore(this.#inner);
  }

  /** Opens (again) a runtime on what the store has. */
  async open(more: Partial<KitOptions> = {}): Promise<void> {
    this.store = new CrashableStore(this.#inner);
    const { inner: _, ...options } = { ...this.#options, ...more };
    this.runtime = await openRuntime({ ...options, store: this.store, clock: this.clock });
  }

  /** What a kill does: nothing of this runtime reaches the store any more, and a new one takes over. */
  async crash(more: Partial<KitOptions> = {}): Promise<void> {
    this.store.crash();
    await this.open(more);
  }

  async close(): Promise<void> {
    await this.runtime.close();
    await checkInvariants(this.#inner);
    await this.#inner.close();
  }

  get fake(): FakeClock {
    if (!(this.clock instanceof FakeClock)) throw new TypeError("this kit runs on the machine's clock");
    return this.clock;
  }

  start(request: MessageInitShape<typeof StartExecutionRequestSchema> = {}, caller = CALLER): Promise<Execution> {
    const { providers } = this.#options;
    const providerId = providers?.[0]?.manifest.id ?? "scripted";
    return this.runtime.startExecution(
      caller,
      create(StartExecutionRequestSchema, { providerId, input: { text: "hello" }, ...request } as never),
    );
  }

  /** Starts a script. */
  script(
    steps: readonly JsonObject[],
    more: MessageInitShape<typeof StartExecutionRequestSchema> = {},
  ): Promise<Execution> {
    return this.start({ providerId: "scripted", config: { steps: [...steps] }, ...more });
  }

  /** Returns an execution, whose wire form says the same. */
  async get(executionId: string, caller = CALLER): Promise<Execution> {
    const { runtime } = this;
    const both = [runtime.getExecution(caller, executionId), runtime.encodedExecution(caller, executionId)] as const;
    const [execution, bytes] = await Promise.all(both);
    const decoded = fromBinary(ExecutionSchema, bytes, { recursionLimit: 10_000 });
    if (!equals(ExecutionSchema, decoded, execution)) expect(decoded).toEqual(execution);
    return execution;
  }

  cancel(executionId: string, reason = "", wait = false): Promise<Execution> {
    return this.runtime.cancelExecution(CALLER, create(CancelExecutionRequestSchema, { executionId, reason, wait }));
  }

  send(executionId: string, mode: InputMode, text: string, idempotencyKey?: string): Promise<AcceptedInput> {
    const key = idempotencyKey === undefined ? {} : { idempotencyKey };
    return this.runtime.sendInput(
      CALLER,
      create(SendInputRequestSchema, { executionId, mode, input: { text }, ...key }),
    );
  }

  respond(action: ActionRequest, response: MessageInitShape<typeof ActionResponseSchema>, caller = CALLER) {
    const { executionId, id: actionId } = action;
    return this.runtime.respondAction(caller, create(RespondActionRequestSchema, { executionId, actionId, response }));
  }

  async actions(executionId = ""): Promise<readonly ActionRequest[]> {
    return (await this.runtime.listActions(CALLER, create(ListActionsRequestSchema, { executionId }))).actions;
  }

  /** Resolves with the execution once it is over. */
  async over(executionId: string): Promise<Execution> {
    for await (const batch of this.batches(executionId)) if (batch.last) break;
    return await this.get(executionId);
  }

  /** Resolves with the first event of a kind, once it is stored; `skip` of them are passed over. */
  async until(executionId: string, name: string, skip = 0): Promise<Event> {
    let left = skip;
    for await (const batch of this.batches(executionId, { eventTypes: [name] })) {
      for (const event of eventsOf(batch)) if (left-- === 0) return event;
    }
    throw new Error(`the execution ended without ${name}`);
  }

  /** Resolves with the open action once there is one. */
  async action(executionId: string, skip = 0): Promise<ActionRequest> {
    const { payload } = await this.until(executionId, "action.required", skip);
    if (payload.case !== "actionRequired" || payload.value.action === undefined) throw new Error("no action");
    return payload.value.action;
  }

  async *batches(
    executionId: string,
    options: Partial<WatchOptions> = {},
    caller = CALLER,
  ): AsyncGenerator<WatchBatch> {
    const watcher = await this.runtime.watchEvents(caller, {
      executionId,
      afterSequence: 0,
      eventTypes: [],
      maxBatch: 0,
      follow: true,
      ...options,
    });
    try {
      for (let batch = await watcher.next(); batch !== undefined; batch = await watcher.next()) yield batch;
    } finally {
      watcher.close();
    }
  }

  /** Everything that is stored now. */
  async events(executionId: string): Promise<readonly Event[]> {
    const events: Event[] = [];
    for await (const batch of this.batches(executionId, { follow: false })) events.push(...eventsOf(batch));
    return events;
  }

  /** The dotted names of everything that is stored now. */
  async names(executionId: string): Promise<readonly string[]> {
    return (await this.events(executionId)).map(nameOf);
  }
}

/** Decodes a batch. */
export function eventsOf({ bytes }: WatchBatch): readonly Event[] {
  return bytes.length === 0 ? [] : decodeChunk({ firstSequence: 0, lastSequence: 0, bytes });
}

/** Returns the value of the only event of a kind. */
export function only<K extends NonNullable<Event["payload"]["case"]>>(events: readonly Event[], kind: K) {
  const found = events.filter(({ payload }) => payload.case === kind);
  expect(found, `events of the kind ${kind}`).toHaveLength(1);
  return found[0]?.payload.value as Extract<Event["payload"], { case: K }>["value"];
}

const open: Kit[] = [];

/** Opens a kit that is closed, and whose every execution is checked, after the test. */
export async function openKit(options: KitOptions = {}): Promise<Kit> {
  const kit = new Kit(options);
  await kit.open();
  open.push(kit);
  return kit;
}

afterEach(async () => {
  for (const kit of open.splice(0)) await kit.close();
});

/** A promise that a test settles by hand. */
export function gate<T = void>() {
  return Promise.withResolvers<T>();
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
