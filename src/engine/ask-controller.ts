import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { checkRunOverrides, planStep, type StepController, type StepOverrides, type StepPlan } from "./controller.js";
import type { EngineRun } from "./engine-run.js";
import { messageOf, RunFailure } from "./errors.js";
import type { ModelConfig } from "./model.js";
import { nameOf } from "./model-call.js";
import type { RunContext } from "./run-context.js";
import type { ToolDefinition } from "./tool.js";

/** Asks the controller, if any, for what holds in the whole run. Throws a {@link RunFailure} where that ends it. */
export async function prepareRun(run: EngineRun, ctx: RunContext): Promise<StepOverrides | undefined> {
  const { controller } = run.config;
  if (controller?.prepareRun === undefined) return undefined;
  return await observed(run, controller, undefined, async () => {
    const overrides = await controller.prepareRun?.(ctx);
    checkRunOverrides(overrides, run.id.grants);
    return overrides;
  });
}

/** Plans the run's next step, as the controller, if any, has it. Throws a {@link RunFailure} where that ends the run. */
export async function prepareStep(
  run: EngineRun,
  wanted: ModelConfig & { readonly tools?: readonly ToolDefinition[] },
  ctx: RunContext,
): Promise<StepPlan> {
  const { controller } = run.config;
  const { grants } = run.id;
  const facts = { grants, supplied: run.tools.map(({ name }) => name), wanted, run: run.runOverrides };
  const index = run.nextStep++;
  if (controller?.prepareStep === undefined) return planStep({ ...facts, step: undefined });
  return await observed(run, controller, index, async () => {
    const tools = (wanted.tools ?? []).filter(({ name }) => grants.toolIds.includes(name));
    return planStep({ ...facts, step: await controller.prepareStep?.({ index, tools }, ctx) });
  });
}

async function observed<T>(
  run: EngineRun,
  { id: controllerId }: StepController,
  index: number | undefined,
  ask: () => Promise<T>,
): Promise<T> {
  const call = { controllerId, ...(index === undefined ? {} : { step: index }) };
  const span = run.spans.controller(call);
  try {
    const said = await ask();
    span.end("controller.result", call);
    return said;
  } catch (error) {
    span.end("controller.error", { ...call, errorName: nameOf(error) });
    if (error instanceof RunFailure) throw error;
    throw new RunFailure(FailureReason.PROVIDER_ERROR, `the step controller failed: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
