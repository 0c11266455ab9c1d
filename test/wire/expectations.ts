import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { fill, isLike } from "./like.js";
import { eventsOf, isObject, type Outcome } from "./question.js";
import type { Call } from "./table.js";

/** Expects of an outcome what the call says. */
export function check(call: Call, outcome: Outcome, saved: JsonObject): void {
  const refused = outcome.error !== undefined;
  // Of calls in parallel some may be accepted and the others refused.
  if (call.error !== undefined && (refused || call.accepted === undefined)) checkRefusal(call, outcome, saved);
  else expect(outcome.error, call.call).toBeUndefined();
  checkStream(call, outcome, saved);
  if (call.response !== undefined && !refused) expectLike(outcome.responses[0], call.response, saved, call.call);
}

function checkRefusal(call: Call, outcome: Outcome, saved: JsonObject): void {
  const { code, reason, metadata, fields } = call.error ?? { code: "" };
  expect(outcome.error?.code, `${call.call}: ${JSON.stringify(outcome)}`).toBe(code);
  const detail = (type: string) => outcome.error?.details.find((found) => found["type"] === `google.rpc.${type}`);
  if (reason !== undefined) expect(detail("ErrorInfo")).toMatchObject({ domain: "harnessruntime", reason });
  if (metadata !== undefined) expectLike(detail("ErrorInfo")?.["metadata"], metadata, saved, call.call);
  if (fields === undefined) return;
  const violations = detail("BadRequest")?.["field_violations"];
  expect(Array.isArray(violations) && violations.map((one) => isObject(one) && one["field"])).toEqual(fields);
}

function checkStream(call: Call, outcome: Outcome, saved: JsonObject): void {
  if (call.events !== undefined) expectEvents(eventsOf(outcome), call.events, saved, call.call);
  if (call.first !== undefined) expectLike(frameOf(outcome.responses[0]), call.first, saved, call.call);
  if (call.last !== undefined) expectLike(frameOf(outcome.responses.at(-1)), call.last, saved, call.call);
  if (call.frames !== undefined) expectFrames(outcome.responses, call.frames, saved);
  if (call.max_bytes !== undefined) expect(Math.max(0, ...outcome.bytes)).toBeLessThanOrEqual(call.max_bytes);
}

/** A frame of WatchEvents, or the one within a frame of AttachExecution. */
function frameOf(frame: JsonValue | undefined): JsonValue | undefined {
  return isObject(frame) && isObject(frame["events"]) ? frame["events"] : frame;
}

/** Events in order: a name, a name and `*` for one or more, or a name with some of its data. */
function expectEvents(
  events: ReturnType<typeof eventsOf>,
  expected: readonly (string | JsonObject)[],
  saved: JsonObject,
  where: string,
): void {
  const merged = events.filter(({ type }, index) => type !== events[index - 1]?.type || !isMerged(type, expected));
  const names = expected.map((entry) => (typeof entry === "string" ? entry.replace(/\*$/, "") : Object.keys(entry)[0]));
  expect(
    merged.map(({ type }) => type),
    where,
  ).toEqual(names);
  expected.forEach((entry, index) => {
    if (typeof entry !== "string") expectLike(merged[index]?.data, Object.values(entry)[0] ?? {}, saved, where);
  });
}

function isMerged(type: string, expected: readonly (string | JsonObject)[]): boolean {
  return expected.includes(`${type}*`);
}

/** Each expected frame is among the frames, in this order. */
function expectFrames(frames: readonly JsonObject[], expected: readonly JsonObject[], saved: JsonObject): void {
  let from = 0;
  for (const wanted of expected) {
    const found = frames.findIndex((frame, index) => index >= from && isLike(frame, wanted, saved));
    expect(found, `no frame ${JSON.stringify(wanted)} in ${JSON.stringify(frames.slice(from))}`).toBeGreaterThan(-1);
    from = found + 1;
  }
}

function expectLike(actual: JsonValue | undefined, expected: JsonValue, saved: JsonObject, where: string): void {
  const message = `${where}: ${JSON.stringify(actual)} is not like ${JSON.stringify(fill(expected, saved))}`;
  expect(isLike(actual, expected, saved), message).toBe(true);
}
