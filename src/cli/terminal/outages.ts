import type { FollowRetry } from "../../client/retry.js";
import { oneLine } from "./printable.js";
import { paint } from "./style.js";

/** Says once for each outage that the runtime is away, and once that it is back. */
export interface Outages {
  /** Another try failed. */
  failed(retry: FollowRetry): void;
  /** Something arrived. */
  heard(): void;
}

export function createOutages(note: (text: string) => void): Outages {
  /** The failures in a row at the last try; 0 while nothing is wrong. */
  let failures = 0;
  const say = (text: string): void => note(paint("dim", text, "stderr"));
  return {
    failed(retry) {
      // Where they are counted anew, what came in between was nothing that was told.
      if (failures === 0 || retry.failures < failures) say(`reconnecting: ${oneLine(retry.error.message)}`);
      failures = retry.failures;
    },
    heard() {
      if (failures > 0) say("connected again");
      failures = 0;
    },
  };
}
