import { create, type DescMessage } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type Event, EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { eventName } from "../../src/core/event-name.js";
import type { EventKind } from "../../src/core/lifecycle.js";
import { CODE_OF } from "../../src/engine/driver-output.js";
import { isTerminalKind, toHarnessEvent } from "../../src/engine/event-mapping.js";
import { toResult } from "../../src/engine/terminal-result.js";

const KINDS = EventSchema.oneofs.flatMap(({ fields }) =>
  fields.map((field) => [field.localName as EventKind, field.message as DescMessage] as const),
);

test.each(KINDS)("E09 %s is seen under its dotted name, and as run.terminal where it ends the run", (kind, schema) => {
  const payload = { case: kind, value: create(schema) } as Event["payload"];
  const event = { ...create(EventSchema, { executionId: "exe_1", sequence: 7, attempt: 2 }), payload };
  const shown = toHarnessEvent(event, "s1", (end) =>
    toResult(end, { sessionId: "s1", artifacts: [], diagnostics: [] }),
  );
  expect(shown).toMatchObject({ sequence: 7, runId: "exe_1", sessionId: "s1", attemptId: "2" });
  expect(shown.time).toBeInstanceOf(Date);
  const { type } = shown.payload;
  if (!isTerminalKind(kind)) expect(type).toBe(eventName(kind));
  else expect(shown.payload).toMatchObject({ type: "run.terminal", result: { finalCursor: 7, runId: "exe_1" } });
});

const REASONS = Object.entries(FailureReason).filter(
  (entry): entry is [string, FailureReason] => typeof entry[1] === "number",
);
const OWN: Readonly<Record<string, string>> = {
  UNSPECIFIED: "execution_failed",
  PROVIDER_ERROR: "execution_failed",
  CONVERSATION_CONFLICT: "session_conflict",
};

test.each(REASONS)("E15 the reason %s is its code in lower case, but for three", (name, reason) => {
  expect(CODE_OF[reason]).toBe(OWN[name] ?? name.toLowerCase());
});
