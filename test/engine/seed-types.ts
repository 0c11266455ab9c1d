// Holds the package's types to the published declarations; nothing of it runs.
import type * as engine from "../../src/engine.js";
import type * as Seed from "./testdata/seed.js";

/** Compiles only where each type can stand for the other. */
type Same<Ours extends Theirs, Theirs extends Back, Back = Ours> = [Ours, Theirs, Back];

/** Each pair is one declaration. */
export type Declared = [
  Same<engine.ExecutionDriver, Seed.ExecutionDriver>,
  Same<engine.HarnessBudgets, Seed.HarnessBudgets>,
  Same<engine.HarnessDriverOutput, Seed.HarnessDriverOutput>,
  Same<engine.HarnessExecutionServices, Seed.HarnessExecutionServices>,
  Same<engine.HarnessGrants, Seed.HarnessGrants>,
  Same<engine.HarnessRunRequest, Seed.HarnessRunRequest>,
  Same<engine.HarnessRuntimeConfig, Seed.HarnessRuntimeConfig>,
  Same<engine.HarnessSendMode, Seed.HarnessSendMode>,
  Same<engine.HarnessStartOptions, Seed.HarnessStartOptions>,
  Same<engine.RunHandle, Seed.RunHandle>,
  Same<engine.ExecutionServices, Seed.ExecutionServices>,
  Same<Pick<engine.HarnessRuntime, keyof Seed.HarnessRuntime>, Seed.HarnessRuntime>,
  Same<Pick<engine.HarnessBudgetError, "code" | "message">, Pick<Seed.HarnessBudgetError, "code" | "message">>,
  Same<
    Pick<engine.HarnessUnsupportedError, "code" | "operation" | "message">,
    Pick<Seed.HarnessUnsupportedError, "code" | "operation" | "message">
  >,
];
