import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError, invalid } from "../core/errors.js";
import { nearest } from "../core/nearest.js";

/** Every key of an object's type; one that is left out does not compile. */
export type KeysOf<T> = Readonly<Record<keyof T, true>>;

/**
 * Refuses what no key of `known` holds, such as a budget whose name is misspelt and
 * which would hold nobody back. Fails with VALIDATION_ERROR.
 */
export function refuseUnknownKeys(path: string, value: unknown, known: Readonly<Record<string, true>>): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(path || "config", "must be an object");
  }
  const unknown = Object.keys(value).find((key) => !Object.hasOwn(known, key));
  if (unknown === undefined) return;
  const names = Object.keys(known);
  const near = nearest(unknown, names);
  const mend = near === undefined ? `known are ${names.join(", ")}` : `did you mean ${near}?`;
  const field = path === "" ? unknown : `${path}.${unknown}`;
  throw new HarnessError(
    ErrorReason.VALIDATION_ERROR,
    `the key ${JSON.stringify(field)} is not known; ${mend}`,
    { field },
    { violations: [{ field, description: `is not known; ${mend}` }] },
  );
}
