import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { EventSchema } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import { type Execution, ExecutionSchema, ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ProviderSchema } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { type EventChunk, encodeChunk, joinChunks, sliceChunk, splitChunk } from "../../../src/core/chunk.js";
import { HarnessError, invalid, notFound } from "../../../src/core/errors.js";
import { LogBatch } from "../../../src/core/log-batch.js";
import type { Caller, Runtime, RuntimeLimits, WatchBatch, Watcher, WatchOptions } from "../../../src/core/runtime.js";

/**
 * A runtime of logs that a test writes itself: what the server does with bytes,
 * errors and streams is seen without a provider. Methods that no server test
 * calls are not there.
 */
export interface FakeRuntime {
  readonly runtime: Runtime;
  /** Appends text deltas, or with `state` a terminal one, and wakes watchers. */
  append(executionId: string, texts: readonly string[], state?: ExecutionState): void;
  /** Watchers that are open. */
  readonly watchers: Set<Watcher>;
  /** What the next watcher's `next` throws instead of waiting. */
  failure: unknown;
  readonly calls: string[];
}

interface Log {
  execution: Execution;
  chunks: EventChunk[];
  last: number;
  readonly waiting: Set<() => void>;
  readonly shared: Map<number, WatchBatch>;
}

const LIMITS: RuntimeLimits = {
  pollIntervalMs: 1_000,
  heartbeatIntervalMs: 10_000,
  tailBytes: 1 << 20,
  remoteGraceMs: 30_000,
  maxOpenExecutions: 10_000,
};

export function createFakeRuntime(limits: Partial<RuntimeLimits> = {}): FakeRuntime {
  const logs = new Map<string, Log>();
  const heartbeatMs = limits.heartbeatIntervalMs ?? LIMITS.heartbeatIntervalMs;
  let draining = false;
  let count = 0;
  const mustLog = (caller: Caller, id: string): Log => {
    const log = logs.get(id);
    if (log === undefined || log.execution.tenantId !== caller.tenantId) throw notFound("execution", id);
    return log;
  };
  const fake: FakeRuntime = {
    runtime: {} as Runtime,
    watchers: new Set<Watcher>(),
    failure: undefined,
    calls: [],
    append(executionId: string, texts: readonly string[], state?: ExecutionState): void {
      const log = logs.get(executionId);
      if (log === undefined) throw new Error(`no log ${executionId}`);
      const payloads = texts.map((text) => ({ case: "outputTextDelta" as const, value: { text, itemId: "" } }));
      write(log, state === undefined ? payloads : [...payloads, { case: "runCompleted" as const, value: {} }]);
      if (state !== undefined) log.execution.state = state;
      log.shared.clear();
      for (const wake of log.waiting) wake();
    },
  };
  const runtime: Partial<Runtime> = {
    limits: { ...LIMITS, ...limits },
    async startExecution(caller, { providerId, input }) {
      fake.calls.push("startExecution");
      if (draining) throw new HarnessError(ErrorReason.SERVER_DRAINING, "draining", {}, { retryMs: 1_000 });
      if (providerId === "broken") throw new TypeError("a bug with a secret in its message");
      if (providerId !== "fake") throw notFound("provider", providerId, ErrorReason.PROVIDER_NOT_FOUND);
      const id = `exe_${++count}`;
      const execution = create(ExecutionSchema, { id, providerId, state: ExecutionState.RUNNING, ...caller });
      if (input !== undefined) execution.input = input;
      const log: Log = { execution, chunks: [], last: 0, waiting: new Set(), shared: new Map() };
      write(log, [{ case: "runQueued", value: { providerId } }]);
      logs.set(id, log);
      return execution;
    },
    getExecution: async (caller, id) => mustLog(caller, id).execution,
    encodedExecution: async (caller, id) => toBinary(ExecutionSchema, await fake.runtime.getExecution(caller, id)),
    async waitExecution(caller, id, _timeoutMs, signal) {
      const log = mustLog(caller, id);
      await new Promise<void>((resolve) => {
        log.waiting.add(resolve);
        signal?.addEventListener("abort", () => resolve());
      });
      return log.execution;
    },
    async cancelExecution(caller, { executionId, reason }) {
      fake.calls.push(`cancelExecution ${reason}`);
      return mustLog(caller, executionId).execution;
    },
    async sendInput(caller, { executionId, input }) {
      fake.calls.push(`sendInput ${input?.text}`);
      const { execution } = mustLog(caller, executionId);
      if (input?.text === "refuse") {
        throw new HarnessError(ErrorReason.INVALID_STATE, "the execution has ended", { state: "SUCCEEDED" });
      }
      return { inputId: `inp_${fake.calls.length}`, sequence: 1, execution };
    },
    listProviders: () =>
      ["alpha", "beta", "fake"].map((id) =>
        create(ProviderSchema, { manifest: { id, version: "1" }, available: true }),
      ),
    watchEvents: async (caller, options) =>
      openWatcher(mustLog(caller, options.executionId), options, fake, heartbeatMs),
    async *watchExecutions(caller, _request, signal) {
      const executions = [...logs.values()].map((log) => log.execution).filter((e) => e.tenantId === caller.tenantId);
      yield { executions, synced: true, removedIds: [] };
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener("abort", () => resolve());
      });
    },
    drain() {
      draining = true;
    },
  };
  return Object.assign(fake, { runtime: runtime as Runtime });
}

function write(log: Log, payloads: NonNullable<MessageInitShape<typeof EventSchema>["payload"]>[]): void {
  if (payloads.length === 0) return;
  const events = payloads.map((payload) =>
    create(EventSchema, { executionId: log.execution.id, sequence: ++log.last, attempt: 1, turn: 1, payload }),
  );
  log.chunks = [joinChunks([...log.chunks, encodeChunk(events)])];
}

function openWatcher(
  log: Log,
  options: WatchOptions,
  fake: Pick<FakeRuntime, "failure" | "watchers">,
  heartbeatMs: number,
): Watcher {
  let after = options.afterSequence;
  if (after < 0) throw invalid("after_sequence", "must not be negative");
  if (after > log.last) {
    throw new HarnessError(ErrorReason.CURSOR_AHEAD, "ahead", { head_sequence: String(log.last) });
  }
  let first = true;
  const batch = (): WatchBatch => {
    const shared = log.shared.get(after) ?? makeBatch(log, after, options);
    log.shared.set(after, shared);
    after = shared.nextAfterSequence;
    first = false;
    return shared;
  };
  const watcher: Watcher = {
    get afterSequence() {
      return after;
    },
    async next(signal) {
      if (first) return batch();
      if (after === log.last) await changed(log, heartbeatMs, signal);
      if (fake.failure !== undefined) throw fake.failure;
      return signal?.aborted || !fake.watchers.has(watcher) ? undefined : batch();
    },
    close() {
      if (!fake.watchers.delete(watcher)) return;
      for (const wake of log.waiting) wake();
    },
  };
  fake.watchers.add(watcher);
  return watcher;
}

function makeBatch(log: Log, after: number, { maxBatch, follow }: WatchOptions): WatchBatch {
  const [all] = log.chunks;
  const rest = all === undefined ? undefined : sliceChunk(all, after);
  const part = rest === undefined ? undefined : splitChunk(rest, maxBatch === 0 ? 1 << 20 : maxBatch, 1 << 20)[0];
  const next = part?.lastSequence ?? after;
  const terminal = log.execution.state === ExecutionState.SUCCEEDED;
  const last = next === log.last && (terminal || !follow);
  return new LogBatch(part === undefined ? [] : [part.bytes], next, log.last, log.execution.state, last);
}

/** Resolves when the log grew, after the heartbeat interval, or on abort. */
async function changed(log: Log, heartbeatMs: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      log.waiting.delete(done);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, heartbeatMs);
    log.waiting.add(done);
    signal?.addEventListener("abort", done);
  });
}
