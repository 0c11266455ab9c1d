import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { CreateConversationRequestSchema } from "../../gen/ts/harnessruntime/v1/conversation_service_pb.js";
import { StartExecutionRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { RunMode as ContractRunMode } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import { invalid } from "../core/errors.js";
import { type Ids, randomIds } from "../core/ids.js";
import { openRuntime } from "../core/open-runtime.js";
import type { Provider } from "../core/provider.js";
import type { Runtime } from "../core/runtime.js";
import { openMemoryStore } from "../store/memory.js";
import { type EngineConfig, type HarnessRuntimeConfig, parseConfig } from "./config.js";
import { toContentInit } from "./contract-values.js";
import { checkPlannable } from "./driver-check.js";
import { toProviderId } from "./driver-manifest.js";
import { engineProvider } from "./driver-provider.js";
import type { HarnessEvent } from "./event.js";
import { narrowGrants } from "./grants.js";
import { type HarnessIdentity, isRunMode, sessionKey } from "./identity.js";
import { LocalRun } from "./local-run.js";
import type { MessageContent } from "./message.js";
import type { HarnessResourcePool } from "./resource.js";
import type { HarnessResult } from "./result.js";
import type { HarnessStartOptions, RunHandle } from "./run-handle.js";
import { LEAST_TIME_MS, ON_CONFLICT_KEY, SESSION_KEY } from "./run-identity.js";
import type { HarnessSessionStore } from "./session-store.js";

/** In a store of its own, a runtime keeps runs that are over for this long, in milliseconds … */
const KEEP_MS = 60_000;
/** … and looks for older ones each time so many more are over. */
const TRIM_EVERY = 64;

/**
 * Runs one driver within this process, under the host's grants, budgets and
 * policies. A run is an execution of the runtime model: the same states, the same
 * log, the same actions, kept in memory unless a store is given.
 *
 * The driver's code is trusted; what it does through its services is governed.
 */
export class HarnessRuntime {
  readonly sessions: HarnessSessionStore;
  readonly resources: HarnessResourcePool;
  readonly #config: EngineConfig;
  readonly #eventCapacity: number | undefined;
  readonly #ids: Ids;
  readonly #provider: Provider;
  /** Stays empty where a store was given. */
  readonly #ownStore = openMemoryStore();
  readonly #runtime: Promise<Runtime>;
  /** How many runs are over. */
  #over = 0;
  /** Runs that are not over. */
  readonly #runs = new Map<string, LocalRun>();

  /** Fails with VALIDATION_ERROR or {@link HarnessUnsupportedError}; then nothing was begun. */
  constructor(config: HarnessRuntimeConfig) {
    this.#config = parseConfig(config, false);
    this.#eventCapacity = config.eventCapacity;
    this.sessions = this.#config.sessions;
    this.resources = this.#config.resources;
    const { clock, driver } = this.#config;
    this.#ids = config.ids ?? randomIds(() => clock.now());
    this.#provider = engineProvider(this.#config, {
      id: toProviderId(driver.id),
      capacity: 2 ** 31 - 1,
      local: (runId) => this.#runs.get(runId),
    });
    this.#runtime = openRuntime({
      store: config.store ?? this.#ownStore,
      providers: [this.#provider],
      clock,
      ids: this.#ids,
      ...(config.log === undefined ? {} : { log: config.log }),
    });
    this.#runtime.catch(() => {});
  }

  /** Returns a copy of an artifact's value; undefined where this owner has none of this id. */
  getArtifact(identity: HarnessIdentity, sessionId: string, id: string): unknown {
    return this.#config.artifacts.get(identity, sessionId, id);
  }

  /** Starts a run and resolves with its result. Throws as {@link HarnessRuntime.start} does. */
  run(input: MessageContent, options: HarnessStartOptions): Promise<HarnessResult> {
    return this.start(input, options).result();
  }

  /** Starts a run and returns a viewer of its events. Throws as {@link HarnessRuntime.start} does. */
  stream(input: MessageContent, options: HarnessStartOptions): AsyncGenerator<HarnessEvent> {
    return this.start(input, options).events();
  }

  /**
   * Starts a run, which begins now whether or not anybody looks at it. Throws at
   * once, with nothing begun, where the options or the input are not valid or ask
   * for more than the host grants.
   */
  start(input: MessageContent, options: HarnessStartOptions): RunHandle {
    const { identity, sessionId } = this.#check(options);
    const content = toContentInit(structuredClone(input));
    const grants = options.grants === undefined ? undefined : narrowGrants(this.#config.grants, options.grants);
    const runId = this.#ids.next("execution");
    const parent = options.parentRunId === undefined ? undefined : this.#runs.get(options.parentRunId);
    const onConflict = this.#onConflict(options, parent);
    const run = new LocalRun({
      runId,
      identity,
      sessionId,
      deadline: options.deadline,
      onConflict,
      parentRunId: options.parentRunId,
      rootRunId: options.rootRunId ?? parent?.rootRunId ?? options.parentRunId ?? runId,
      eventCapacity: this.#eventCapacity,
      controls: this.#config.driver.capabilities.controls,
      runtime: this.#runtime,
      clock: this.#config.clock,
      start: async (runtime) => {
        const conversation = await runtime.createConversation(identity, toConversation(identity, sessionId));
        const request = create(StartExecutionRequestSchema, {
          conversationId: conversation.id,
          providerId: this.#provider.manifest.id,
          input: content,
          config: {
            [SESSION_KEY]: sessionId,
            // Told only where it matters: the run may be gone on with by a process that does not know its starter.
            ...(onConflict === this.#config.onConflict ? {} : { [ON_CONFLICT_KEY]: onConflict }),
          },
          runMode: options.runMode === "plan" ? ContractRunMode.PLAN : ContractRunMode.EXECUTE,
          parentExecutionId: parent?.runId ?? "",
          ...(grants === undefined ? {} : { grants: copyGrants(grants) }),
          ...toDeadline(options.deadline, this.#config.clock.now()),
        });
        await runtime.startExecution(identity, request, runId);
      },
      onSettled: () => this.#forget(runId),
    });
    this.#runs.set(runId, run);
    follow(options.signal, run);
    return run;
  }

  /**
   * Ends the runtime: lets runs end for up to `graceMs` (default 0), then stops
   * them. A store that was given stays open. Idempotent.
   */
  async close(graceMs = 0): Promise<void> {
    const runtime = await this.#runtime;
    if (graceMs === 0) for (const run of this.#runs.values()) run.cancel("the runtime was closed");
    await runtime.close(Math.max(graceMs, 3 * this.#config.cleanupTimeoutMs));
    await this.#ownStore.close();
  }

  /** A run is over: its handle has its events and its result, and nobody else can ask for them. */
  #forget(runId: string): void {
    this.#runs.delete(runId);
    this.#over++;
    if (this.#over % TRIM_EVERY !== 0) return;
    this.#ownStore.forget(this.#config.clock.now() - KEEP_MS, (executionId) => this.#runs.has(executionId));
  }

  #check({ identity, sessionId, runMode, deadline }: HarnessStartOptions): {
    identity: HarnessIdentity;
    sessionId: string;
  } {
    mustName("identity.tenantId", identity?.tenantId);
    mustName("identity.userId", identity?.userId);
    mustName("sessionId", sessionId);
    if (runMode !== undefined && !isRunMode(runMode))
      throw invalid("runMode", `${JSON.stringify(runMode)} is neither execute nor plan`);
    if (runMode === "plan") checkPlannable(this.#config.driver);
    if (deadline !== undefined && !Number.isFinite(deadline)) throw invalid("deadline", `${deadline} is not a time`);
    const capacity = this.#eventCapacity;
    if (capacity !== undefined && !(Number.isSafeInteger(capacity) && capacity >= 2)) {
      throw invalid("eventCapacity", `${capacity} is not an integer from 2`);
    }
    return { identity: Object.freeze({ tenantId: identity.tenantId, userId: identity.userId }), sessionId };
  }

  /** A run that queued behind one of its ancestors would wait for ever. */
  #onConflict(options: HarnessStartOptions, parent: LocalRun | undefined): "refuse" | "queue" {
    const key = sessionKey(options.identity, options.sessionId);
    for (let above = parent; above !== undefined; above = this.#runs.get(above.parentRunId ?? "")) {
      if (sessionKey(above.identity, above.sessionId) === key) return "refuse";
    }
    return options.onConflict ?? this.#config.onConflict;
  }
}

function mustName(field: string, value: unknown): void {
  if (typeof value !== "string" || value === "") throw invalid(field, "must not be empty");
}

/** The same conversation for the same session of the same user, made at its first run. */
function toConversation({ userId }: HarnessIdentity, sessionId: string) {
  const digest = createHash("sha256")
    .update(JSON.stringify([userId, sessionId]))
    .digest("hex");
  return create(CreateConversationRequestSchema, {
    metadata: { session_id: sessionId },
    idempotencyKey: `session-${digest}`,
  });
}

/** The contract takes no deadline in the past; the engine itself refuses a run whose deadline is that close. */
function toDeadline(deadline: number | undefined, nowMs: number) {
  if (deadline === undefined || deadline - nowMs <= LEAST_TIME_MS) return {};
  return { deadlineTime: timestampFromMs(Math.ceil(deadline)) };
}

function copyGrants(grants: {
  toolIds: readonly string[];
  requiredToolIds: readonly string[];
  modelRoles: readonly string[];
}) {
  return {
    toolIds: [...grants.toolIds],
    requiredToolIds: [...grants.requiredToolIds],
    modelRoles: [...grants.modelRoles],
  };
}

function follow(signal: AbortSignal | undefined, run: LocalRun): void {
  if (signal === undefined) return;
  const cancel = (): void => run.cancel(reasonOf(signal));
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  const stop = (): void => signal.removeEventListener("abort", cancel);
  run.result().then(stop, stop);
}

function reasonOf({ reason }: AbortSignal): string {
  return reason instanceof Error ? reason.message : typeof reason === "string" ? reason : "aborted";
}
