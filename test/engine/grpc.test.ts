import { Code, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, onTestFinished, test } from "vitest";
import { ActionService } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { Topology } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { RuntimeService } from "../../gen/ts/harnessruntime/v1/runtime_service_pb.js";
import { openRuntime } from "../../src/core/open-runtime.js";
import { driverProvider, type ExecutionDriver, HarnessRuntime } from "../../src/engine.js";
import { startServer } from "../../src/server/server.js";
import { openMemoryStore } from "../../src/store/memory.js";
import { driver, OPTIONS, tool, untilAborted } from "./fixtures.js";

const TOOLS = [tool("deploy", { effect: "external", requiresApproval: true })];
const GRANTS = { toolIds: ["deploy"], modelRoles: [] };

const DRIVER = driver(async (services, { input, signal }) => {
  if (input === "wait") return await untilAborted(signal);
  const { result, denial } = await services.dispatch({
    id: `c-${input}`,
    name: "deploy",
    arguments: { to: "production" },
  });
  return `${input}: ${result ?? denial}`;
});

/** Serves a driver over gRPC on a free port of this machine. */
async function serveDriver(served: ExecutionDriver) {
  const store = openMemoryStore();
  const runtime = await openRuntime({ store, providers: [driverProvider(served, { tools: TOOLS, grants: GRANTS })] });
  const server = await startServer({ runtime, port: 0 });
  onTestFinished(async () => {
    await server.close(0);
    await runtime.close(0);
    await store.close();
  });
  const transport = createGrpcTransport({ baseUrl: server.url });
  return {
    executions: createClient(ExecutionService, transport),
    actions: createClient(ActionService, transport),
    runtimes: createClient(RuntimeService, transport),
  };
}

test("E190 a driver is served over gRPC unchanged, and an approval that its tool needs is answered there", async () => {
  const { executions, actions } = await serveDriver(DRIVER);
  const { execution } = await executions.startExecution({ providerId: "test-driver", input: { text: "ship" } });
  const executionId = execution?.id ?? "";
  const events: Event[] = [];
  for await (const frame of executions.watchEvents({ executionId })) {
    events.push(...frame.events);
    const asked = frame.events.find(({ payload }) => payload.case === "actionRequired")?.payload;
    if (asked?.case !== "actionRequired") continue;
    expect((await executions.getExecution({ executionId })).execution?.state).toBe(ExecutionState.AWAITING_APPROVAL);
    await actions.respondAction({ executionId, actionId: asked.value.action?.id ?? "", response: { approved: true } });
  }
  expect(events.at(-1)?.payload).toMatchObject({ case: "runCompleted", value: { finalOutput: "ship: deploy done" } });
  const kinds = events.map(({ payload }) => payload.case);
  expect(kinds).toEqual([
    "runQueued",
    "runStarting",
    "runStarted",
    "toolCallStarted",
    "actionRequired",
    "actionResponded",
    "toolCallCompleted",
    "outputTextDelta",
    "outputTextDone",
    "runCompleted",
  ]);
});

test("E191 the same driver gives the same events embedded, where nobody can be asked", async () => {
  const runtime = new HarnessRuntime({ driver: DRIVER, tools: TOOLS, grants: GRANTS });
  expect((await runtime.run("ship", OPTIONS)).text).toBe("ship: approval_required");
  await runtime.close();
});

test("E192 follow_up, replace, grants and plan mode reach a served driver", async () => {
  const { executions, runtimes } = await serveDriver(DRIVER);
  const { providers } = await runtimes.listProviders({});
  expect(Object.keys(providers[0]?.manifest?.capabilities ?? {})).toContain("policy.grants");
  expect(providers[0]?.manifest?.topologies).toEqual([Topology.EMBEDDED]);
  const { execution } = await executions.startExecution({
    providerId: "test-driver",
    input: { text: "wait" },
    grants: { toolIds: [], modelRoles: [] },
  });
  const executionId = execution?.id ?? "";
  await executions.sendInput({ executionId, input: { text: "other" }, mode: InputMode.REPLACE });
  const ended = await executions.waitExecution({ executionId, timeout: { seconds: 10n } });
  expect(ended.execution).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "other: policy", turn: 2 });
  const planned = await executions.startExecution({ providerId: "test-driver", input: { text: "plan" }, runMode: 2 });
  const end = await executions.waitExecution({ executionId: planned.execution?.id ?? "", timeout: { seconds: 10n } });
  expect(end.execution?.finalOutput).toBe("plan: policy");
  const wide = executions.startExecution({
    providerId: "test-driver",
    input: { text: "x" },
    grants: { toolIds: ["deploy", "destroy"], modelRoles: [] },
  });
  await expect(wide).rejects.toMatchObject({
    code: Code.InvalidArgument,
    rawMessage: expect.stringContaining("destroy"),
  });
});
