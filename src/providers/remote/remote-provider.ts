import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  type Register,
  type Registered,
  RegisteredSchema,
} from "../../../gen/ts/harnessruntime/provider/v1/provider_pb.js";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { Execution } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { ProviderManifest } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { Clock } from "../../core/clock.js";
import { HarnessError } from "../../core/errors.js";
import { MAX_EVENT_BYTES } from "../../core/limits.js";
import type {
  Availability,
  CleanupReport,
  Provider,
  ProviderContext,
  ProviderHost,
  TurnOutcome,
} from "../../core/provider.js";
import { ProviderLostError } from "../../core/provider-lost.js";
import type { HaltCause } from "../../core/turn-aborted.js";
import { RemoteAttempt } from "./attempt.js";
import { AwaitedAttempts } from "./awaited-attempts.js";
import type { Connection } from "./connection.js";
import { Instance, type InstanceHost } from "./instance.js";
import { Placement } from "./placement.js";

/** What every remote provider works with. */
export interface RemoteProviderOptions {
  readonly clock: Clock;
  readonly graceMs: number;
  readonly heartbeatMs: number;
  readonly cancelTimeoutMs: number;
  readonly protocolVersion: string;
  /** The manifest that holds is another one. */
  readonly onManifest: () => void;
}

/** One provider that dials in: all its instances, as the runtime's port sees them. */
export class RemoteProvider implements Provider, InstanceHost {
  readonly cancelTimeoutMs: number;
  readonly #options: RemoteProviderOptions;
  readonly #instances = new Map<string, Instance>();
  readonly #attempts = new Map<string, RemoteAttempt>();
  readonly #awaited = new AwaitedAttempts();
  readonly #placement: Placement;
  #manifest: ProviderManifest;
  #version = "";
  #host: ProviderHost | undefined;

  constructor(manifest: ProviderManifest, options: RemoteProviderOptions) {
    this.#manifest = manifest;
    this.#options = options;
    this.#placement = new Placement(() => this.#instances.values());
    // The hook says itself what it could not do in time.
    this.cancelTimeoutMs = options.cancelTimeoutMs + 1_000;
  }

  get clock(): Clock {
    return this.#options.clock;
  }
  get graceMs(): number {
    return this.#options.graceMs;
  }

  /** That of the version that came last, among the instances that are there. */
  get manifest(): ProviderManifest {
    return this.#manifest;
  }

  get capacity(): number {
    return this.#placement.capacity;
  }

  availability(): Availability {
    if (this.#placement.isOpen) return { available: true, reason: "" };
    const reason = this.#instances.size === 0 ? "no instance of it is connected" : "no instance of it takes executions";
    return { available: false, reason };
  }

  async open(host: ProviderHost): Promise<void> {
    this.#host = host;
  }

  /** Ends all streams; the instances connect again, and go on with what they have. */
  async close(): Promise<void> {
    const error = new HarnessError(
      ErrorReason.SERVER_DRAINING,
      "the runtime is shutting down: connect again",
      {},
      { retryMs: 1_000 },
    );
    this.#awaited.close();
    for (const instance of [...this.#instances.values()]) instance.close(error);
  }

  /** Places the execution on an instance; fails where none is there for it within the grace. */
  async start(context: ProviderContext): Promise<void> {
    const { execution, attempt, signal } = context;
    const { id: executionId, conversationId } = execution;
    const place = (instance: Instance): void => {
      this.#place(instance, { executionId, attempt, stored: 0, knownTurn: undefined });
    };
    const { clock, graceMs: limitMs } = this.#options;
    const isPlaced = await this.#placement.place({ conversationId, place, signal, clock, limitMs });
    if (!isPlaced && !signal.aborted) {
      throw new ProviderLostError(`no instance of ${this.#manifest.id} is there to run it`);
    }
  }

  async run(context: ProviderContext): Promise<TurnOutcome> {
    const { execution, attempt } = context;
    const placed = this.#attempts.get(execution.id);
    if (placed === undefined || placed.attempt !== attempt || placed.isLost) {
      throw new ProviderLostError(`the instance that ran attempt ${attempt} is gone`);
    }
    return await placed.run(context);
  }

  async cancel({ execution }: ProviderContext, reason: string, why: HaltCause): Promise<CleanupReport | undefined> {
    return await this.#attempts.get(execution.id)?.cancel(reason, why, this.#options.cancelTimeoutMs);
  }

  async dispose({ execution }: ProviderContext): Promise<void> {
    const placed = this.#attempts.get(execution.id);
    if (placed !== undefined) await this.#end(placed);
  }

  async reattach(execution: Execution, signal: AbortSignal, mark: number): Promise<boolean> {
    const found = await this.#await(execution, mark, signal);
    if (found === undefined) return false;
    this.#awaited.mustBeTaken(found, this.clock, this.graceMs, () => void this.#giveUp(found));
    return true;
  }

  /** Tells the instance that still has a cancelled execution to stop, once more. */
  async recover(execution: Execution): Promise<CleanupReport | undefined> {
    if (execution.state !== ExecutionState.CANCELLING) return undefined;
    const { graceMs, cancelTimeoutMs } = this.#options;
    const limit = new AbortController();
    const waitMs = Math.max(graceMs - cancelTimeoutMs, graceMs / 2);
    const disarm = this.clock.after(waitMs, () => limit.abort());
    const placed = await this.#await(execution, 0, limit.signal);
    disarm();
    if (placed === undefined) return { error: "the instance that ran it did not come back; its work may still run" };
    try {
      return await placed.confirmCancelled(execution.cancel?.reason ?? "", graceMs - waitMs);
    } finally {
      await this.#end(placed);
    }
  }

  /** Takes a stream of an instance; returns what it is answered. */
  connect(connection: Connection, register: Register, manifest: ProviderManifest, version: string): Instance {
    const { instanceId } = register;
    let instance = this.#instances.get(instanceId);
    const last = instance?.connection;
    if (instance === undefined) {
      instance = new Instance(instanceId, version, { manifest, capacity: register.capacity }, this);
      this.#instances.set(instanceId, instance);
    }
    instance.connect(connection, register, manifest, version);
    last?.close(replaced(instanceId));
    for (const { executionId, attempt } of register.executions) {
      this.#awaited.found(executionId, attempt, (awaited) => this.#place(instance, { executionId, ...awaited }));
    }
    this.#changed(version);
    return instance;
  }

  /** What an instance that registered is answered. */
  registered(instance: Instance, register: Register): Registered {
    const { heartbeatMs, graceMs, protocolVersion } = this.#options;
    return create(RegisteredSchema, {
      instanceId: instance.id,
      protocolVersion,
      executions: instance.kept(register).map(({ held }) => held),
      heartbeatInterval: durationFromMs(heartbeatMs),
      grace: durationFromMs(graceMs),
      maxEventBytes: MAX_EVENT_BYTES,
    });
  }

  /** Its stream broke. */
  disconnect(instance: Instance, connection: Connection): void {
    instance.disconnect(connection);
    this.#changed();
  }

  /** It takes no more executions. */
  drain(instance: Instance): void {
    instance.drain();
    this.#changed();
  }

  gone(instance: Instance): void {
    if (this.#instances.get(instance.id) === instance) this.#instances.delete(instance.id);
    for (const { executionId } of instance.attempts.values()) this.#attempts.delete(executionId);
    this.#changed();
  }

  #changed(version?: string): void {
    const current = this.#placement.changed(version);
    if (current !== undefined && current.version !== this.#version) {
      this.#version = current.version;
      this.#manifest = current.manifest;
      this.#options.onManifest();
    }
    this.#host?.changed();
  }

  #place(
    instance: Instance,
    at: Omit<ConstructorParameters<typeof RemoteAttempt>[0], "instance" | "clock">,
  ): RemoteAttempt {
    const before = this.#attempts.get(at.executionId);
    if (before !== undefined) void this.#giveUp(before);
    const placed = new RemoteAttempt({ ...at, instance, clock: this.clock });
    this.#attempts.set(at.executionId, placed);
    instance.attempts.set(at.executionId, placed);
    return placed;
  }

  async #end(placed: RemoteAttempt): Promise<void> {
    const { executionId, instance } = placed;
    this.#awaited.forget(placed);
    if (this.#attempts.get(executionId) === placed) this.#attempts.delete(executionId);
    await placed.dispose();
    if (placed.isReleased) return;
    if (instance.attempts.get(executionId) === placed) instance.attempts.delete(executionId);
    if (instance.connection === undefined && instance.attempts.size === 0) this.gone(instance);
    else this.#changed();
  }

  /** Has the instance stop an attempt that the runtime goes on without. */
  async #giveUp(placed: RemoteAttempt): Promise<void> {
    placed.fence();
    await this.#end(placed);
  }

  /** Returns the attempt as an instance has it, once that registers with it; undefined where the signal comes first. */
  async #await(execution: Execution, stored: number, signal: AbortSignal): Promise<RemoteAttempt | undefined> {
    const there = this.#attempts.get(execution.id);
    const isThere = there?.attempt === execution.attempt && there.isLive;
    const placed = isThere ? there : await this.#awaited.wait(execution, stored, signal);
    if (placed === undefined || !signal.aborted) return placed;
    await this.#giveUp(placed);
    return undefined;
  }
}

function replaced(instanceId: string): HarnessError {
  return new HarnessError(ErrorReason.FENCED, `another stream registered as instance ${instanceId}`, {
    instance_id: instanceId,
  });
}
