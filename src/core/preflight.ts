import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { StartExecutionRequest } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { RunMode } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import { type ProviderManifest, SupportLevel } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { levelOf, satisfies } from "./capability.js";
import { type FieldViolation, HarnessError, invalid } from "./errors.js";
import type { Provider } from "./provider.js";
import { checkSchema } from "./schema.js";

/** The longest duration that a request may ask for: 10 years of 365 days. */
const MAX_DURATION_S = 10n * 365n * 86_400n;
/** The last millisecond that a Timestamp has a form for. */
export const MAX_TIME_MS = Date.UTC(10_000, 0, 1) - 1;

/**
 * Checks what a start request asks of its provider, before anything is made or
 * the provider is touched: capabilities and their minimum levels, grants, run
 * mode and budgets, config. Fails with CAPABILITY_UNSUPPORTED naming all that is
 * missing, or with VALIDATION_ERROR.
 */
export function preflight(request: StartExecutionRequest, provider: Provider): void {
  const needed = neededLevels(request);
  const missing = [...needed]
    .filter(([capability, minimum]) => !satisfies(levelOf(provider.manifest, capability), minimum))
    .map(([capability]) => capability)
    .sort();
  if (missing.length > 0) throw unsupported(provider.manifest, missing, needed);
  checkConfig(request, provider);
}

/** Each capability that is asked for, with the least level that will do. */
function neededLevels(request: StartExecutionRequest): ReadonlyMap<string, SupportLevel> {
  const needed = new Map<string, SupportLevel>();
  for (const capability of request.requiredCapabilities) needed.set(capability, SupportLevel.DEGRADED);
  if (hasGrants(request)) needed.set("policy.grants", SupportLevel.DEGRADED);
  if (request.runMode === RunMode.PLAN) needed.set("policy.plan", SupportLevel.DEGRADED);
  if (request.budgets?.maxRevisions !== undefined) needed.set("policy.completion", SupportLevel.DEGRADED);
  for (const [capability, minimum] of Object.entries(request.minimumLevels)) needed.set(capability, minimum);
  return needed;
}

function hasGrants({ grants }: StartExecutionRequest): boolean {
  if (grants === undefined) return false;
  return grants.toolIds.length + grants.requiredToolIds.length + grants.modelRoles.length > 0;
}

function unsupported(
  manifest: ProviderManifest,
  missing: readonly string[],
  needed: ReadonlyMap<string, SupportLevel>,
): HarnessError {
  const told = missing.map((capability) => {
    const has = SupportLevel[levelOf(manifest, capability)];
    return `${capability} is ${has}, needed ${SupportLevel[needed.get(capability) ?? SupportLevel.DEGRADED]}`;
  });
  return new HarnessError(
    ErrorReason.CAPABILITY_UNSUPPORTED,
    `provider ${manifest.id} does not do what is required (${told.join("; ")}); require less, or choose another provider`,
    { provider_id: manifest.id, capabilities: missing.join(",") },
  );
}

function checkConfig({ config = {} }: StartExecutionRequest, provider: Provider): void {
  const { configSchema } = provider.manifest;
  if (configSchema !== undefined) checkSchema(configSchema, config, "config");
  const violations = (provider.checkConfig?.(config) ?? []).map(below("config"));
  if (violations.length === 0) return;
  throw new HarnessError(
    ErrorReason.VALIDATION_ERROR,
    violations.map(({ field, description }) => `${field}: ${description}`).join("; "),
    { field: violations[0]?.field ?? "config" },
    { violations },
  );
}

function below(root: string): (violation: FieldViolation) => FieldViolation {
  return ({ field, description }) => ({ field: field === "" ? root : `${root}.${field}`, description });
}

/** Checks that a request's times and durations have a form in JSON; fails with VALIDATION_ERROR. */
export function checkTimes({ deadlineTime, timeout, actionPolicy, orphanPolicy }: StartExecutionRequest): void {
  const durations = {
    timeout,
    "action_policy.timeout": actionPolicy?.timeout,
    "orphan_policy.cancel_after": orphanPolicy?.cancelAfter,
  };
  for (const [field, duration] of Object.entries(durations)) {
    if (duration !== undefined) checkDuration(field, duration);
  }
  if (deadlineTime !== undefined) checkDeadline(deadlineTime);
}

function checkDuration(field: string, { seconds, nanos }: Duration): void {
  if (seconds > MAX_DURATION_S) throw invalid(field, "it must not be longer than 10 years");
  if (seconds < 0n || nanos < 0) throw invalid(field, "it must not be shorter than 0");
  if (nanos >= 1e9) throw invalid(field, "its nanos must be below 1,000,000,000");
}

function checkDeadline({ seconds, nanos }: Timestamp): void {
  if (seconds < 0n) throw invalid("deadline_time", "it is in the past");
  if (Number(seconds) * 1000 > MAX_TIME_MS) throw invalid("deadline_time", "it is later than the year 9999");
  if (nanos < 0 || nanos >= 1e9) throw invalid("deadline_time", "its nanos must be 0 to 999,999,999");
}

/** Returns when a request's execution must be over, in milliseconds; undefined where it has no limit. */
export function deadlineMs(request: StartExecutionRequest, nowMs: number): number | undefined {
  const { deadlineTime, timeout } = request;
  if (timeout !== undefined) return nowMs + mustPositive("timeout", timeout);
  return deadlineTime === undefined ? undefined : mustFuture(deadlineTime, nowMs);
}

function mustFuture(deadline: Timestamp, nowMs: number): number {
  const atMs = timestampMs(deadline);
  if (!(atMs > nowMs)) throw invalid("deadline_time", "it is in the past");
  return Math.min(Math.ceil(atMs), MAX_TIME_MS);
}

/** Returns a positive duration in whole milliseconds, at least 1; fails with VALIDATION_ERROR on `field` otherwise. */
export function mustPositive(field: string, duration: Duration): number {
  if (!(Number(duration.seconds) * 1e9 + duration.nanos > 0)) throw invalid(field, "it must be longer than 0");
  return durationToMs(duration);
}

/** Returns a duration in whole milliseconds; one that is longer than 0 is at least 1. */
export function durationToMs({ seconds, nanos }: Duration): number {
  const exactMs = Number(seconds) * 1000 + nanos / 1e6;
  return exactMs > 0 ? Math.max(1, Math.round(exactMs)) : Math.round(exactMs);
}
