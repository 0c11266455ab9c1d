import type { HeldExecution, Register } from "../../../gen/ts/harnessruntime/provider/v1/provider_pb.js";
import type { ProviderManifest } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { Clock } from "../../core/clock.js";
import type { RemoteAttempt } from "./attempt.js";
import type { Connection } from "./connection.js";
import { Flow } from "./flow.js";

/** What an instance needs of its provider. */
export interface InstanceHost {
  readonly clock: Clock;
  /** How long a broken stream may take to come back, in milliseconds. */
  readonly graceMs: number;
  /** The instance is gone for good. */
  gone(instance: Instance): void;
}

/** One process of a provider, over all its streams. */
export class Instance {
  readonly flow = new Flow();
  readonly attempts = new Map<string, RemoteAttempt>();
  readonly #host: InstanceHost;
  #connection: Connection | undefined;
  #stopGrace: (() => void) | undefined;
  #isDraining = false;
  #manifest: ProviderManifest;
  #capacity: number;

  constructor(
    readonly id: string,
    /** Names what it registered with: equal for equal manifests. */
    public version: string,
    { manifest, capacity }: { readonly manifest: ProviderManifest; readonly capacity: number },
    host: InstanceHost,
  ) {
    this.#manifest = manifest;
    this.#capacity = capacity;
    this.#host = host;
  }

  /** The current stream; undefined while it is broken. */
  get connection(): Connection | undefined {
    return this.#connection;
  }
  get manifest(): ProviderManifest {
    return this.#manifest;
  }
  get capacity(): number {
    return this.#capacity;
  }
  /** Whether it is there and takes executions. */
  get isOpen(): boolean {
    return this.#connection !== undefined && !this.#isDraining;
  }
  /** How many more executions it can take. */
  get room(): number {
    return this.isOpen ? this.#capacity - this.attempts.size : 0;
  }

  /** It takes no more executions. */
  drain(): void {
    this.#isDraining = true;
  }

  /** A stream of it registered: takes the place of the last one, and settles what it still has. */
  connect(connection: Connection, register: Register, manifest: ProviderManifest, version: string): void {
    this.#stopGrace?.();
    this.#connection = connection;
    this.#isDraining = false;
    this.#manifest = manifest;
    this.#capacity = register.capacity;
    this.version = version;
    const named = new Map(register.executions.map((held) => [held.executionId, held]));
    for (const attempt of [...this.attempts.values()]) this.#settle(attempt, named.get(attempt.executionId));
  }

  /** Those of the executions it named that are still its own. */
  kept({ executions }: Register): readonly RemoteAttempt[] {
    return executions.flatMap(({ executionId }) => this.attempts.get(executionId) ?? []);
  }

  /** Its stream broke: it has the grace to come back, where there is anything to come back for. */
  disconnect(connection: Connection): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    if (this.attempts.size === 0) {
      this.#host.gone(this);
      return;
    }
    const { clock, graceMs } = this.#host;
    this.#stopGrace = clock.after(graceMs, () => this.lose(`instance ${this.id} was away for more than ${graceMs} ms`));
  }

  /** Ends its stream for good: another runtime goes on with what it has. */
  close(error: Error): void {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#stopGrace?.();
    connection?.close(error);
    this.#host.gone(this);
  }

  /** Gives up all that it has. */
  lose(message: string): void {
    this.#stopGrace?.();
    this.#host.gone(this);
    for (const attempt of [...this.attempts.values()]) this.#drop(attempt, message);
  }

  /** An attempt that a process no longer has, or has forgotten part of, is lost; one that it never heard of is not. */
  #settle(attempt: RemoteAttempt, named: HeldExecution | undefined): void {
    const { lastEmitId } = attempt.held;
    if (named?.attempt === attempt.attempt && named.lastEmitId >= lastEmitId) return;
    if (attempt.mayBeUnknown) return;
    this.#drop(attempt, `instance ${this.id} came back without execution ${attempt.executionId}`);
  }

  #drop(attempt: RemoteAttempt, message: string): void {
    this.attempts.delete(attempt.executionId);
    void attempt.lost(message);
  }
}
