import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError } from "./errors.js";

/** The error for new work while the server drains. */
export function draining(): HarnessError {
  return new HarnessError(
    ErrorReason.SERVER_DRAINING,
    "the server is shutting down and takes no new work; try again, at another node if there is one",
    {},
    { retryMs: 1000 },
  );
}
