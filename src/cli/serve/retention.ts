import { durationMs } from "@bufbuild/protobuf/wkt";
import type { RetentionRule } from "../../../gen/ts/harnessruntime/config/v1/config_pb.js";
import type { Clock } from "../../core/clock.js";
import type { Log } from "../../core/provider.js";
import type { Store } from "../../core/store.js";

const INTERVAL_MS = 3_600_000;

/** What runs the retention rules. */
export interface Retention {
  /** Ends it; resolves when no trim is under way. */
  stop(): Promise<void>;
}

/** Applies the rules now and every hour: drops the events of executions that ended long enough ago. */
export function startRetention(
  store: Store,
  rules: readonly RetentionRule[],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Retention {
  let cancel = (): void => undefined;
  let stopped = false;
  const round = async (): Promise<void> => {
    for (const { keep, labels } of rules) {
      if (stopped || keep === undefined) continue;
      const executions = await store.trim(clock.now() - durationMs(keep), labels);
      if (executions > 0)
        log.info({ executions, keepMs: durationMs(keep), labels }, "dropped the events of old executions");
    }
  };
  const repeat = async (): Promise<void> => {
    await round().catch((error: unknown) => log.error({ error: String(error) }, "retention failed; it is tried again"));
    if (!stopped) {
      cancel = clock.after(INTERVAL_MS, () => {
        running = repeat();
      });
    }
  };
  let running = rules.length === 0 ? Promise.resolve() : repeat();
  return {
    async stop() {
      stopped = true;
      cancel();
      await running;
    },
  };
}
