import { invalid } from "../core/errors.js";
import type { ExecutionDriver } from "./driver.js";
import { HarnessUnsupportedError } from "./errors.js";
import { SEND_MODES } from "./identity.js";

/** What a driver is checked against. */
export interface DriverNeeds {
  /** Grants, budgets or policies are given, which only a controlled, local driver can be held to. */
  readonly governed: boolean;
  /** Whether runs are kept where they survive the process. */
  readonly durableStore: boolean;
}

/** Whether the services can enforce grants, budgets and policies on a driver: all that it does goes through them. */
export function isGovernable({ capabilities }: ExecutionDriver): boolean {
  return capabilities.policyCoverage === "local" && capabilities.controlledExecution;
}

/** Fails with {@link HarnessUnsupportedError} where a driver cannot be held to plan mode. */
export function checkPlannable(driver: ExecutionDriver): void {
  if (isGovernable(driver)) return;
  throw new HarnessUnsupportedError("plan", `the driver ${driver.id} does more than what the services can deny`);
}

/**
 * Checks what a driver says of itself. Fails with VALIDATION_ERROR where it makes
 * no sense, with {@link HarnessUnsupportedError} where this host cannot give what
 * it declares or it cannot be held to what the host wants.
 */
export function checkDriver(driver: ExecutionDriver, needs: DriverNeeds): void {
  const { id, version, capabilities } = driver;
  if (typeof id !== "string" || id === "") throw invalid("driver.id", "must not be empty");
  if (!Number.isSafeInteger(version) || version < 1)
    throw invalid("driver.version", `${String(version)} is not an integer from 1`);
  const unknown = capabilities.controls.find((mode) => !SEND_MODES.includes(mode));
  if (unknown !== undefined)
    throw invalid("driver.capabilities.controls", `${JSON.stringify(unknown)} is not a mode of send`);
  checkDurable(driver, needs);
  if (capabilities.controls.includes("replace") && driver.interruptible !== true) {
    throw new HarnessUnsupportedError("replace", `the driver ${id} does not say that it can be interrupted`);
  }
  if (needs.governed) checkGovernable(driver);
}

function checkDurable({ id, capabilities, resume }: ExecutionDriver, { durableStore }: DriverNeeds): void {
  if (!capabilities.durable) return;
  if (resume === undefined) throw new HarnessUnsupportedError("durable", `the driver ${id} cannot resume`);
  if (!durableStore) throw new HarnessUnsupportedError("durable", "the store does not survive the process");
}

function checkGovernable({ id, capabilities }: ExecutionDriver): void {
  if (capabilities.policyCoverage !== "local") {
    throw new HarnessUnsupportedError(
      "policyCoverage",
      `grants, budgets and policies cannot be enforced on the driver ${id}, whose coverage is ${capabilities.policyCoverage}`,
    );
  }
  if (!capabilities.controlledExecution) {
    throw new HarnessUnsupportedError(
      "controlledExecution",
      `grants, budgets and policies cannot be enforced on the driver ${id}, which does not use the services for every operation`,
    );
  }
}
