import type { RunContext } from "../run-context.js";
import type { HarnessExecutionServices } from "../services.js";

/** Returns what a policy needs to ask a model of its own. Throws a TypeError outside of a turn. */
export function mustControlServices(ctx: RunContext): Pick<HarnessExecutionServices, "controlModel"> {
  const services = ctx.executionServices;
  if (services === undefined || !("controlModel" in services))
    throw new TypeError("the context has no services of a turn");
  return services as HarnessExecutionServices;
}
