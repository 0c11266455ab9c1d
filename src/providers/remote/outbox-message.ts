import type { ConnectRequest } from "../../../gen/ts/harnessruntime/provider/v1/provider_service_pb.js";

/** A message of an attempt's outbox, as it came. */
export type OutboxMessage = Extract<
  ConnectRequest["message"],
  { case: "emit" | "requestAction" | "finish" | "cancelled" }
>;
