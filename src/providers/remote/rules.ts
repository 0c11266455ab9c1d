import type { DescMessage } from "@bufbuild/protobuf";
import {
  CancelledSchema,
  FinishSchema,
  RequestActionSchema,
} from "../../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import { createRules } from "../../core/rules.js";
import type { OutboxMessage } from "./outbox-message.js";

/** Returns each rule of the contract that a message of an instance breaks. */
export const brokenRules = createRules();

/** An `emit` is not among them: its events are checked one by one as they are appended, at a fraction of the price. */
const CHECKED: { readonly [K in OutboxMessage["case"]]?: readonly [name: string, schema: DescMessage] } = {
  requestAction: ["request_action", RequestActionSchema],
  finish: ["finish", FinishSchema],
  cancelled: ["cancelled", CancelledSchema],
};

/** Returns which rule of the contract a message of an outbox breaks, in words; undefined where it breaks none. */
export function brokenRule(message: OutboxMessage): string | undefined {
  const { case: kind, value } = message;
  const [name, schema] = CHECKED[kind] ?? [];
  const [first] = schema === undefined ? [] : brokenRules(schema, value);
  return first && `${name}.${first.field}: ${first.description}`;
}
