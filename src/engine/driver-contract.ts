import type { HarnessRuntimeConfig } from "./config.js";
import type { ExecutionDriver } from "./driver.js";
import type { HarnessEvent } from "./event.js";
import { HarnessRuntime } from "./harness-runtime.js";
import type { HarnessSendMode } from "./identity.js";
import type { MessageContent } from "./message.js";
import type { HarnessResult } from "./result.js";
import type { HarnessStartOptions, RunHandle } from "./run-handle.js";
import { createMemorySessions } from "./session-store.js";
import { bindMethods } from "./snapshot.js";
import type { ToolDef } from "./tool.js";

/** What the checks of a driver need to know. */
export interface DriverContract {
  /** Makes the driver, anew for each check. */
  readonly driver: () => ExecutionDriver;
  /** What it runs with: tools, models, grants and whatever else it needs. Default: nothing granted. */
  readonly config?: () => Omit<HarnessRuntimeConfig, "driver" | "sessionStore" | "cleanupTimeoutMs">;
  /** An input with which it completes. Default `hello`. */
  readonly input?: MessageContent;
  /** How long a driver may take to end once it is asked to, in milliseconds. Default 2,000. */
  readonly endsWithinMs?: number;
}

/** One rule that every driver keeps. */
export interface DriverCheck {
  /** A sentence that is true of a good driver. */
  readonly name: string;
  /** Rejects with what is wrong. */
  run(): Promise<void>;
}

/**
 * Registers the checks with a test framework, such as `testDriverContract(test, { driver: () => myDriver })` with the
 * `test` of Vitest, Jest or `node:test`.
 */
export function testDriverContract(
  test: (name: string, run: () => Promise<void>) => unknown,
  contract: DriverContract,
): void {
  for (const { name, run } of driverChecks(contract)) void test(name, run);
}

/** Returns the checks of a driver, to run in any way. */
export function driverChecks(contract: DriverContract): readonly DriverCheck[] {
  return [...BASICS, ...MODES].map(([name, check]) => ({
    name,
    run: async () => {
      const bench = new Bench(contract);
      try {
        await check(bench);
      } finally {
        await bench.close();
      }
    },
  }));
}

type Check = readonly [name: string, check: (bench: Bench) => Promise<void>];

const IDENTITY = { tenantId: "contract", userId: "driver" };
const START: HarnessStartOptions = { identity: IDENTITY, sessionId: "one" };

const BASICS: readonly Check[] = [
  [
    "it completes its example, with one terminal event at the end of a log without gaps",
    async (bench) => {
      const handle = bench.start();
      const result = mustComplete(await bench.end(handle));
      const events = await bench.events(handle);
      must(
        events.every(({ sequence }, index) => sequence === index + 1),
        "the sequences have gaps",
      );
      const terminal = events.filter(({ payload }) => payload.type === "run.terminal");
      must(
        terminal.length === 1 && events.at(-1) === terminal[0],
        "there is not exactly one terminal event, or it is not last",
      );
      must(result.finalCursor === events.length, "the result's cursor is not the terminal event's");
    },
  ],
  [
    "it ends soon once it is cancelled, with nothing left behind",
    async (bench) => {
      const handle = bench.start();
      await bench.entered(handle);
      handle.cancel("a check");
      const { status, cleanupDiagnostics } = await bench.end(handle);
      must(status === "cancelled" || status === "completed", `it ended as ${status}`);
      must(cleanupDiagnostics === undefined, `it left work behind: ${cleanupDiagnostics?.join("; ")}`);
    },
  ],
  [
    "it goes on in a session, whose history grows",
    async (bench) => {
      mustComplete(await bench.end(bench.start()));
      const before = await bench.historyLength();
      mustComplete(await bench.end(bench.start()));
      must((await bench.historyLength()) > before, "the second run added nothing to the session's history");
    },
  ],
  [
    "runs of different sessions do not disturb each other",
    async (bench) => {
      const handles = ["a", "b", "c", "d"].map((sessionId) => bench.start({ sessionId }));
      for (const handle of handles) mustComplete(await bench.end(handle));
    },
  ],
  [
    "it ends when its budgets are used up",
    async (bench) => {
      const handle = bench.start({}, { budgets: { maxModelCalls: 0, maxToolCalls: 0, maxTokens: 0 } });
      await bench.end(handle);
    },
  ],
  [
    "it ends when nothing is granted",
    async (bench) => {
      await bench.end(bench.start({ grants: { toolIds: [], modelRoles: [] } }, { grants: withoutRequired(bench) }));
    },
  ],
  [
    "in plan mode no tool runs that does more than read",
    async (bench) => {
      const ran: string[] = [];
      await bench.end(bench.start({ runMode: "plan" }, { tools: bench.recordedTools(ran) }));
      must(ran.length === 0, `in plan mode it ran ${ran.join(", ")}`);
    },
  ],
];

const MODES: readonly Check[] = [
  [
    "it refuses the modes that it does not declare",
    async (bench) => {
      const { controls } = bench.driver.capabilities;
      const handle = bench.start();
      for (const mode of ["follow_up", "steer", "replace"] as const) {
        if (controls.includes(mode)) continue;
        const error = await handle.send("more", { mode }).catch((reason: unknown) => reason);
        must(error instanceof Error && error.name === "HarnessUnsupportedError", `${mode} is not refused`);
      }
      await bench.end(handle);
    },
  ],
  ["a follow_up is another turn of the same run", (bench) => bench.sending("follow_up")],
  ["a steer is taken without harm", (bench) => bench.sending("steer")],
  ["a replacing input takes the place of the turn", (bench) => bench.sending("replace")],
];

class Bench {
  readonly driver: ExecutionDriver;
  readonly #contract: DriverContract;
  readonly #sessions = createMemorySessions();
  readonly #runtimes: HarnessRuntime[] = [];
  readonly #entered = Promise.withResolvers<void>();

  constructor(contract: DriverContract) {
    this.#contract = contract;
    const driver = bindMethods(contract.driver());
    const start: ExecutionDriver["start"] = (request, services) => {
      this.#entered.resolve();
      return driver.start(request, services);
    };
    this.driver = { ...driver, start };
  }

  get config(): Omit<HarnessRuntimeConfig, "driver"> {
    return this.#contract.config?.() ?? { grants: { toolIds: [], modelRoles: [] } };
  }

  get #limitMs(): number {
    return this.#contract.endsWithinMs ?? 2_000;
  }

  start(options: Partial<HarnessStartOptions> = {}, more: Partial<HarnessRuntimeConfig> = {}): RunHandle {
    const runtime = new HarnessRuntime({
      ...this.config,
      ...more,
      driver: this.driver,
      sessionStore: this.#sessions,
      cleanupTimeoutMs: this.#limitMs,
    });
    this.#runtimes.push(runtime);
    return runtime.start(this.#contract.input ?? "hello", { ...START, ...options });
  }

  /** Sends an input in a mode that the driver declares; nothing where it does not. */
  async sending(mode: HarnessSendMode): Promise<void> {
    if (!this.driver.capabilities.controls.includes(mode)) return;
    const handle = this.start();
    await handle.send(this.#contract.input ?? "hello", { mode });
    const { status, reason } = await this.end(handle);
    must(status === "completed", `after a ${mode} it ended as ${status}: ${reason?.message ?? ""}`);
  }

  /** Waits for a run's end; a run that does not end by itself is a failure. */
  async end(handle: RunHandle): Promise<HarnessResult> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const limitMs = 4 * this.#limitMs;
      timer = setTimeout(() => reject(new Error(`the run did not end within ${limitMs} ms`)), limitMs);
    });
    try {
      return await Promise.race([handle.result(), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async events(handle: RunHandle): Promise<readonly HarnessEvent[]> {
    const events: HarnessEvent[] = [];
    for await (const event of handle.events()) events.push(event);
    return events;
  }

  /** Resolves once the driver is at work, or the run is over. */
  async entered(handle: RunHandle): Promise<void> {
    await Promise.race([this.#entered.promise, this.end(handle)]);
  }

  async historyLength(): Promise<number> {
    const lease = await this.#sessions.acquire(IDENTITY, START.sessionId);
    const { history } = await lease.read();
    await lease.release();
    return history.length;
  }

  /** The tools of the configuration; what runs and does more than read is noted. */
  recordedTools(ran: string[]): readonly ToolDef[] {
    return (this.config.tools ?? []).map((tool) => ({
      ...tool,
      execute: (args, ctx) => {
        if (tool.effect !== "read") ran.push(tool.name);
        return tool.execute(args, ctx);
      },
    }));
  }

  async close(): Promise<void> {
    for (const runtime of this.#runtimes) await runtime.close();
  }
}

function withoutRequired(bench: Bench): HarnessRuntimeConfig["grants"] {
  const { toolIds, modelRoles } = bench.config.grants;
  return { toolIds, modelRoles };
}

function mustComplete(result: HarnessResult): HarnessResult {
  must(result.status === "completed", `it ended as ${result.status}: ${result.reason?.message ?? ""}`);
  return result;
}

function must(holds: boolean, problem: string): void {
  if (!holds) throw new Error(problem);
}
