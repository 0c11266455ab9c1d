import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Runtime } from "../../src/core/runtime.js";
import { CHECKS } from "../../src/providers/conformance/checks.js";
import type { Scene } from "../../src/providers/conformance/scene.js";
import { type ConformanceOptions, openScene, whySkipped } from "../../src/providers/conformance.js";

/** A provider in a runtime of its own. */
export interface ContractTarget extends ConformanceOptions {
  readonly runtime: Runtime;
  readonly providerId: string;
  close(): Promise<void>;
}

/** What holds of every provider: `create` opens one in a runtime. `skipped` are the checks that do not apply to it, by the beginning of their reason. */
export function testProviderContract(
  name: string,
  create: () => Promise<ContractTarget>,
  skipped: readonly string[] = [],
  timeoutMs = 60_000,
): void {
  describe(`provider contract: ${name}`, () => {
    let target: ContractTarget;
    let scene: Scene;

    beforeAll(async () => {
      target = await create();
      scene = openScene(target.runtime, target.providerId, target);
    }, timeoutMs);

    afterAll(() => target.close(), timeoutMs);

    for (const check of CHECKS) {
      test(
        check.title,
        async ({ skip }) => {
          const reason = whySkipped(check, scene);
          if (reason !== undefined) {
            expect(
              skipped.some((expected) => reason.startsWith(expected)),
              `unexpected skip: ${reason}`,
            ).toBe(true);
            skip(reason);
          }
          expect(await check.run(scene)).toBeUndefined();
        },
        timeoutMs,
      );
    }
  });
}
