import { fromBinary, toJson } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { type Artifact, ArtifactSchema } from "../../gen/ts/harnessruntime/v1/artifact_pb.js";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { ExecutionSchema, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { decodeChunk } from "../../src/core/chunk.js";
import { evolve } from "../../src/core/evolve.js";
import { decodeFold, emptyFold, toExecution } from "../../src/core/fold.js";
import { isTerminal } from "../../src/core/lifecycle.js";
import type { Store, StoredExecution } from "../../src/core/store.js";

const TENANTS = ["local", "other"];
const TERMINAL_KINDS = ["runCompleted", "runFailed", "runCancelled"];

/** Holds every execution in a store to the invariants of the runtime model; returns how many there were. */
export async function checkInvariants(store: Store): Promise<number> {
  let count = 0;
  for (const tenantId of TENANTS) {
    let pageToken = "";
    do {
      const page = await store.listExecutions({ tenantId, pageSize: 100, pageToken });
      for (const stored of page.items) await checkExecution(store, stored);
      count += page.items.length;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }
  return count;
}

async function checkExecution(store: Store, stored: StoredExecution): Promise<void> {
  if (stored.firstSequence !== 1) return;
  const events = await readAll(store, stored);
  const id = stored.key.executionId;
  // I1: contiguous from 1.
  expect(
    events.map(({ sequence }) => sequence),
    id,
  ).toEqual(events.map((_, index) => index + 1));
  expect(events.at(-1)?.sequence, id).toBe(stored.lastSequence);
  // I2: exactly one terminal event, and it is last.
  const terminal = events.filter(({ payload }) => TERMINAL_KINDS.includes(payload.case ?? ""));
  expect(terminal.length, id).toBe(isTerminal(stored.state) ? 1 : 0);
  if (terminal.length > 0) expect(terminal[0], id).toBe(events.at(-1));
  checkFold(stored, events);
  checkInputs(stored.state, events);
  await checkArtifacts(store, stored, events);
  checkActions(events);
  // I5: terminal cancellation is confirmed by run.cancelled, after run.cancelling.
  if (stored.state === ExecutionState.CANCELLED) {
    expect(
      events.filter(({ payload }) => payload.case === "runCancelling"),
      id,
    ).toHaveLength(1);
  }
}

/** L08: the fold of the start record and all events is the stored execution. */
function checkFold(stored: StoredExecution, events: readonly Event[]): void {
  const folded = evolve(emptyFold(fromBinary(ExecutionSchema, stored.start)), events);
  expect(toJson(ExecutionSchema, toExecution(folded))).toEqual(
    toJson(ExecutionSchema, toExecution(decodeFold(stored))),
  );
}

/** N02: each accepted input has exactly one of consumed and dropped, before the end. */
function checkInputs(state: ExecutionState, events: readonly Event[]): void {
  const accepted = idsOf(events, "inputAccepted");
  const closed = [...idsOf(events, "inputConsumed"), ...idsOf(events, "inputDropped")];
  expect(new Set(closed).size).toBe(closed.length);
  for (const id of closed) expect(accepted).toContain(id);
  if (isTerminal(state)) expect(closed.toSorted()).toEqual(accepted.toSorted());
}

function idsOf(events: readonly Event[], kind: "inputAccepted" | "inputConsumed" | "inputDropped"): string[] {
  return events.flatMap(({ payload }) => (payload.case === kind ? [payload.value.inputId] : []));
}

/** I7: one creation event an artifact, in order, with the same data. */
async function checkArtifacts(store: Store, stored: StoredExecution, events: readonly Event[]): Promise<void> {
  const created = events.flatMap(({ payload }): Artifact[] =>
    payload.case === "artifactCreated" && payload.value.artifact !== undefined ? [payload.value.artifact] : [],
  );
  const page = await store.listArtifacts(stored.key, { pageSize: 1000, pageToken: "" });
  const listed = page.items.map((bytes) => toJson(ArtifactSchema, fromBinary(ArtifactSchema, bytes)));
  expect(listed).toEqual(created.map((artifact) => toJson(ArtifactSchema, artifact)));
  expect(new Set(created.map(({ id }) => id)).size).toBe(created.length);
}

/** I9: an action is opened once and closed at most once. */
function checkActions(events: readonly Event[]): void {
  const opened = events.flatMap(({ payload }) => (payload.case === "actionRequired" ? [payload.value.action?.id] : []));
  const closed = events.flatMap(({ payload }) => {
    const { case: kind } = payload;
    const closes = kind === "actionResponded" || kind === "actionExpired" || kind === "actionAbandoned";
    return closes ? [payload.value.actionId] : [];
  });
  expect(new Set(opened).size).toBe(opened.length);
  expect(new Set(closed).size).toBe(closed.length);
  for (const id of closed) expect(opened).toContain(id);
}

/** Reads an execution's whole log. */
export async function readAll(store: Store, { key }: StoredExecution): Promise<readonly Event[]> {
  const events: Event[] = [];
  for (;;) {
    const after = events.at(-1)?.sequence ?? 0;
    const slice = await store.read(key, after, 1024 * 1024);
    const more = (slice?.chunks ?? []).flatMap(decodeChunk).filter(({ sequence }) => sequence > after);
    if (more.length === 0) return events;
    events.push(...more);
  }
}
