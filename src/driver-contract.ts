/** `harness-runtime/driver-contract`: the rules that every driver keeps, as checks for any test framework. */
export {
  type DriverCheck,
  type DriverContract,
  driverChecks,
  testDriverContract,
} from "./engine/driver-contract.js";
