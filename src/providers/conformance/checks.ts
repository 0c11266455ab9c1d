import type { Event } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import { ACTION_CHECKS } from "./action-checks.js";
import { CANCEL_CHECKS } from "./cancel-checks.js";
import type { Check } from "./check.js";
import { CONVERSATION_CHECKS } from "./conversation-checks.js";
import { FAULT_CHECKS } from "./fault-checks.js";
import { INPUT_CHECKS } from "./input-checks.js";
import { OUTPUT_CHECKS } from "./output-checks.js";
import { type CheckedRun, fail } from "./scene.js";

/** All checks, in an order in which each can be understood by those before it. */
export const CHECKS: readonly Check[] = [
  ...OUTPUT_CHECKS,
  ...CANCEL_CHECKS,
  ...ACTION_CHECKS,
  ...INPUT_CHECKS,
  ...CONVERSATION_CHECKS,
  ...FAULT_CHECKS,
  {
    title: "L02 every execution so far has events 1 to n, and one terminal event, the last",
    async run({ runs }) {
      for (const run of runs) checkLog(run);
      return undefined;
    },
  },
];

const TERMINAL: readonly Event["payload"]["case"][] = ["runCompleted", "runFailed", "runCancelled"];

function checkLog({ id, events, isOver }: CheckedRun): void {
  if (!isOver) fail(`${id} has not ended`);
  const gap = events.findIndex(({ sequence }, index) => sequence !== index + 1);
  if (gap >= 0) fail(`${id} has ${events[gap]?.sequence} as event ${gap + 1}`);
  const terminal = events.filter(({ payload }) => TERMINAL.includes(payload.case));
  if (terminal.length !== 1 || terminal[0] !== events.at(-1))
    fail(`${id} has ${terminal.length} terminal events, or more after it`);
}
