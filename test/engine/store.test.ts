import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { expect, onTestFinished, test, vi } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ListArtifactsRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { openRuntime } from "../../src/core/open-runtime.js";
import { createApprovalManager } from "../../src/engine.js";
import { MemoryStore, openMemoryStore } from "../../src/store/memory.js";
import { openSqliteStore } from "../../src/store/sqlite.js";
import { ADA, eventsOf, ManualClock, OPTIONS, runtimeOf, tool, untilAborted } from "./fixtures.js";

test("E198 a run is an execution: in the host's own store it is what any client of that store reads", async () => {
  const dir = await mkdtemp(join(tmpdir(), "engine-store-"));
  const store = await openSqliteStore({ path: join(dir, "log.db") });
  const runtime = runtimeOf(
    (services) => ({ text: "kept", artifacts: [{ id: services.putArtifact({ a: 1 }), mimeType: "application/json" }] }),
    { store },
  );
  const handle = runtime.start("hello", OPTIONS);
  const events = await eventsOf(handle);
  await runtime.close();
  const reader = await openRuntime({ store });
  const execution = await reader.getExecution(ADA, handle.runId);
  expect(execution).toMatchObject({
    state: ExecutionState.SUCCEEDED,
    finalOutput: "kept",
    lastSequence: events.length,
  });
  const { artifacts } = await reader.listArtifacts(
    ADA,
    create(ListArtifactsRequestSchema, { executionId: handle.runId }),
  );
  expect(artifacts.length).toBe(1);
  const other = { tenantId: "other", userId: ADA.userId };
  await expect(reader.getExecution(other, handle.runId)).rejects.toThrow("no execution");
  await reader.close(0);
  await store.close();
  await rm(dir, { recursive: true });
});

test("E199 runs of one session are executions of one conversation, those of another session of another", async () => {
  const store = openMemoryStore();
  const runtime = runtimeOf(() => "ok", { store });
  const ids: string[] = [];
  const bob = { ...ADA, userId: "bob" };
  for (const more of [{}, {}, { sessionId: "s2" }, { identity: bob }]) {
    const handle = runtime.start("hello", { ...OPTIONS, ...more });
    await handle.result();
    ids.push(handle.runId);
  }
  const reader = await openRuntime({ store });
  const conversations = [];
  for (const id of ids.slice(0, 3)) conversations.push((await reader.getExecution(ADA, id)).conversationId);
  expect(conversations[0]).toBe(conversations[1]);
  expect(conversations[2]).not.toBe(conversations[0]);
  expect(conversations).not.toContain("s1");
  expect((await reader.getExecution(bob, ids[3] ?? "")).conversationId).not.toBe(conversations[0]);
  await reader.close(0);
});

test("E200 a handle keeps the events of its run, however long ago it was and however many runs followed", async () => {
  const clock = new ManualClock();
  const runtime = runtimeOf(() => "ok", { clock });
  const first = runtime.start("hello", OPTIONS);
  const { finalCursor } = await first.result();
  clock.advance(120_000);
  for (let count = 0; count < 70; count++) await runtime.run("hello", OPTIONS);
  expect((await eventsOf(first)).length).toBe(finalCursor);
});

test("E200 a runtime with no store of the host's keeps nothing of runs that were over a minute ago", async () => {
  const forget = vi.spyOn(MemoryStore.prototype, "forget");
  onTestFinished(() => forget.mockRestore());
  const clock = new ManualClock();
  const approvalManager = createApprovalManager({ policy: "all", onApproval: () => ({ approved: true }) });
  const runtime = runtimeOf(
    async (services, { input }) => {
      if (input === "long") await untilAborted(services.signal);
      return `${(await services.dispatch({ id: "c1", name: "a", arguments: {} })).result}`;
    },
    { clock, approvalManager, tools: [tool("a")], grants: { toolIds: ["a"], modelRoles: [] } },
  );
  const long = runtime.start("long", { ...OPTIONS, sessionId: "s2" });
  for (let count = 0; count < 63; count++) await runtime.run("hello", OPTIONS);
  clock.advance(61_000);
  await runtime.run("hello", OPTIONS);
  await vi.waitFor(() => expect(forget).toHaveBeenCalled());
  const store = forget.mock.contexts[0] as MemoryStore;
  const query = { tenantId: ADA.tenantId, pageSize: 100, pageToken: "" };
  expect((await store.listExecutions(query)).items.length).toBe(2);
  expect((await store.listActions(query)).items.length).toBe(1);
  long.cancel();
  expect((await long.result()).status).toBe("cancelled");
});
