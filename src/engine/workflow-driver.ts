import type { ExecutionDriver, HarnessRunRequest } from "./driver.js";
import { toJson } from "./message.js";
import type { HarnessDriverOutput } from "./result.js";
import type { RunContext } from "./run-context.js";
import type { HarnessExecutionServices } from "./services.js";

/** What a workflow's own code works with. */
export interface Workflow {
  /**
   * Runs one step under a granted name. After a crash a step whose result was
   * stored is not run again and gives that result; one that was cut off runs again,
   * with the same `key`. Throws {@link HarnessDenialError} where it is denied.
   */
  step<T>(name: string, args: Record<string, unknown>, execute: StepFunction<T>): Promise<T>;
  readonly services: HarnessExecutionServices;
}

/** One step's work. Its result must be what JSON can say. `key` is the same each time that this very step of this very turn runs, and no other step's: for idempotent effects. */
export type StepFunction<T> = (args: Record<string, unknown>, ctx: RunContext, key: string) => Promise<T>;

export interface WorkflowDriverOptions {
  readonly id: string;
  /** Default 1. Raise it when steps change: a run goes on only with the version that began it. */
  readonly version?: number;
  /** Whether runs survive the process; needs a durable store. Default false. */
  readonly durable?: boolean;
  /**
   * The workflow: the same steps in the same order for the same results of earlier
   * steps, and nothing else that differs from run to run. A text alone completes the turn.
   */
  readonly run: (workflow: Workflow, request: HarnessRunRequest) => Promise<HarnessDriverOutput | string>;
}

/** Makes a driver of deterministic steps, each of them governed as an effect. */
export function workflowDriver({ id, version = 1, durable = false, run }: WorkflowDriverOptions): ExecutionDriver {
  const begin = async (
    request: HarnessRunRequest,
    services: HarnessExecutionServices,
    record: readonly StepRecord[],
  ): Promise<HarnessDriverOutput> => {
    const output = await run(new RecordedWorkflow(services, request, version, record), request);
    return typeof output === "string" ? { text: output } : output;
  };
  return {
    id,
    version,
    capabilities: {
      controls: ["follow_up", "replace"],
      durable,
      policyCoverage: "local",
      controlledExecution: true,
    },
    interruptible: true,
    start: (request, services) => begin(request, services, []),
    resume: (request, services, { state }) =>
      begin(request, services, decodeRecord(state, { id, version, turn: turnOf(request) })),
  };
}

/** What is kept of a turn for the time after a crash. */
interface SavedState {
  readonly version: number;
  readonly turn: number;
  readonly record: readonly StepRecord[];
}

interface StepRecord {
  readonly name: string;
  readonly result: unknown;
}

class RecordedWorkflow implements Workflow {
  readonly services: HarnessExecutionServices;
  readonly #request: HarnessRunRequest;
  readonly #version: number;
  readonly #record: StepRecord[];
  #next = 0;

  constructor(
    services: HarnessExecutionServices,
    request: HarnessRunRequest,
    version: number,
    record: readonly StepRecord[],
  ) {
    this.services = services;
    this.#request = request;
    this.#version = version;
    this.#record = [...record];
  }

  /** A property, so that a workflow may take it apart: `async ({ step }) => …`. */
  readonly step = async <T>(name: string, args: Record<string, unknown>, execute: StepFunction<T>): Promise<T> => {
    const index = this.#next++;
    const recorded = this.#record[index];
    if (recorded !== undefined) {
      if (recorded.name !== name) {
        throw new TypeError(
          `step ${index} was ${recorded.name} before the restart and is ${name} now: a workflow must be deterministic`,
        );
      }
      return recorded.result as T;
    }
    const key = `${this.#request.runId}:${turnOf(this.#request)}:${index}`;
    const run = async (given: Record<string, unknown>, ctx: RunContext): Promise<T> => {
      const result = await execute(given, ctx, key);
      this.#keep(index, name, result);
      return result;
    };
    return await this.services.dispatchEffect(name, args, run, { key });
  };

  /** Stored with the event that says that the step is done. */
  #keep(index: number, name: string, result: unknown): void {
    const json = toJson(result);
    if (result !== undefined && json === undefined) throw new TypeError(`the result of the step ${name} is not JSON`);
    this.#record[index] = { name, result: json };
    const state: SavedState = { version: this.#version, turn: turnOf(this.#request), record: this.#record };
    this.services.saveResumeState?.(new TextEncoder().encode(JSON.stringify(state)));
  }
}

function turnOf({ turn = 1 }: HarnessRunRequest): number {
  return turn;
}

/** The results that the turn had when it was cut off; none where what was kept is of an earlier turn. */
function decodeRecord(
  state: Uint8Array | undefined,
  { id, version, turn }: { readonly id: string; readonly version: number; readonly turn: number },
): readonly StepRecord[] {
  if (state === undefined) return [];
  const saved = JSON.parse(new TextDecoder().decode(state)) as SavedState;
  if (saved.version !== version) {
    throw new TypeError(
      `the run was begun by version ${saved.version} of the workflow ${id}, and this is version ${version}`,
    );
  }
  return saved.turn === turn ? saved.record : [];
}
