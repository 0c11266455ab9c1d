import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type ConformanceResult,
  ConformanceResultSchema,
  SupportLevel,
} from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { Caller, Runtime } from "../core/runtime.js";
import type { Check } from "./conformance/check.js";
import { CHECKS } from "./conformance/checks.js";
import { levelOf, type Scene, type StartedProcesses } from "./conformance/scene.js";
import type { Situations } from "./conformance/situation.js";

/** The version of the list of checks, as a result names it. */
export const SUITE_VERSION = "1";

export interface ConformanceOptions {
  readonly situations: Situations;
  /** Default: the tenant and user `conformance`. */
  readonly caller?: Caller;
  /** The longest that anything is waited for, in milliseconds. Default 120,000. */
  readonly limitMs?: number;
  /** Kills (−9) the processes that the provider started. Unset: the checks that need it are skipped. */
  readonly kill?: () => Promise<void>;
  /** Looks at the processes that the provider started. Unset: what it says of them is believed. */
  readonly processes?: StartedProcesses;
  /** The same provider, in the same runtime, with noise in its harness's output. Unset: the check that needs it is skipped. */
  readonly noisyProviderId?: string;
  /** Called after each check. */
  readonly onCheck?: (checked: Checked) => void;
}

/** What became of one check. */
export interface Checked {
  readonly title: string;
  readonly outcome: "passed" | "failed" | "skipped";
  /** What is wrong, or why it was skipped; empty where it passed. */
  readonly detail: string;
  readonly durationMs: number;
}

export interface ConformanceReport {
  readonly checks: readonly Checked[];
  /** As ListProviders shows it. */
  readonly result: ConformanceResult;
}

/**
 * Runs the provider contract's checks against a provider of a live runtime, one
 * after another, and keeps the measured levels with it. A capability whose
 * checks all pass measures as it is declared; one that fails is UNSUPPORTED, one
 * that falls short DEGRADED; one with no check that ran is not listed. Leaves
 * its executions in the runtime's log. Fails with PROVIDER_NOT_FOUND.
 */
export async function runProviderConformance(
  runtime: Runtime,
  providerId: string,
  options: ConformanceOptions,
): Promise<ConformanceReport> {
  const scene = openScene(runtime, providerId, options);
  const checks: Checked[] = [];
  const levels = new Map<string, SupportLevel>();
  for (const check of CHECKS) {
    const startMs = performance.now();
    const { level, ...checked } = await runCheck(check, scene);
    checks.push({ title: check.title, ...checked, durationMs: Math.round(performance.now() - startMs) });
    if (check.capability !== undefined && level !== undefined) {
      levels.set(check.capability, Math.max(level, levels.get(check.capability) ?? level));
    }
    const last = checks.at(-1);
    if (last !== undefined) options.onCheck?.(last);
  }
  const count = (outcome: Checked["outcome"]): number => checks.filter((checked) => checked.outcome === outcome).length;
  const result = create(ConformanceResultSchema, {
    suiteVersion: SUITE_VERSION,
    measureTime: timestampFromMs(Date.now()),
    passed: count("passed"),
    failed: count("failed"),
    measuredLevels: Object.fromEntries(levels),
  });
  runtime.recordConformance(providerId, result);
  return { checks, result };
}

/** What the checks need of a provider in a runtime. */
export function openScene(runtime: Runtime, providerId: string, options: ConformanceOptions): Scene {
  const { manifest } = runtime.getProvider(providerId);
  if (manifest === undefined) throw new Error(`the provider ${providerId} has no manifest`);
  return {
    ...{ runtime, providerId, manifest, situations: options.situations, runs: [] },
    caller: options.caller ?? { tenantId: "conformance", userId: "conformance" },
    limitMs: options.limitMs ?? 120_000,
    kill: options.kill,
    processes: options.processes,
    noisyProviderId: options.noisyProviderId,
  };
}

/** Why a check does not apply; undefined where it does. */
export function whySkipped({ capability, situation, fault }: Check, scene: Scene): string | undefined {
  if (capability !== undefined && levelOf(scene, capability) === SupportLevel.UNSUPPORTED)
    return `${capability} is UNSUPPORTED`;
  if (situation !== undefined && scene.situations[situation] === undefined) return `no situation for ${situation}`;
  if (fault === "kill" && scene.kill === undefined) return "its processes cannot be killed from here";
  if (fault === "noise" && scene.noisyProviderId === undefined) return "its output cannot be made noisy from here";
  return undefined;
}

type Outcome = Pick<Checked, "outcome" | "detail"> & { readonly level: SupportLevel | undefined };

async function runCheck(check: Check, scene: Scene): Promise<Outcome> {
  const skipped = whySkipped(check, scene);
  if (skipped !== undefined) return { outcome: "skipped", detail: skipped, level: undefined };
  try {
    const fallsShort = await check.run(scene);
    const declared = check.capability === undefined ? undefined : levelOf(scene, check.capability);
    if (fallsShort === undefined || declared === undefined || fallsShort <= declared) {
      return { outcome: "passed", detail: "", level: declared };
    }
    const detail = `it is ${SupportLevel[fallsShort]}, and declared ${SupportLevel[declared]}`;
    return { outcome: "failed", detail, level: fallsShort };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { outcome: "failed", detail, level: SupportLevel.UNSUPPORTED };
  } finally {
    // A check that failed half way leaves an execution that would stand in the way of the next.
    await Promise.all(
      scene.runs
        .filter((run) => !run.isOver)
        .map((run) =>
          run
            .cancel()
            .then(() => run.end())
            .catch(() => {}),
        ),
    );
  }
}
