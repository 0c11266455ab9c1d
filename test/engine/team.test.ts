import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { CancelExecutionRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ListExecutionsRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { teamDriver } from "../../src/engine.js";
import { ADA, driver, eventsOf, OPTIONS, runtimeOf, tool, untilAborted } from "./fixtures.js";
import { openServed } from "./served.js";

const SLOW = driver((_services, { signal }) => untilAborted(signal));

describe("teamDriver", () => {
  test("E155 a member runs as a child execution with this run as its parent and root", async () => {
    const served = await openServed(
      teamDriver({
        id: "team",
        members: {
          writer: {
            driver: driver(
              (_services, { parentRunId, rootRunId, input }) => `${input} for ${parentRunId} of ${rootRunId}`,
            ),
          },
        },
        run: async ({ ask }, { input }) => (await ask("writer", `${input}!`)).text,
      }),
    );
    const parent = await served.start("write");
    const { finalOutput } = await served.wait(parent.id);
    expect(finalOutput).toBe(`write! for ${parent.id} of ${parent.id}`);
    const { executions } = await served.runtime.listExecutions(
      ADA,
      create(ListExecutionsRequestSchema, { parentExecutionId: parent.id }),
    );
    expect(executions).toMatchObject([{ providerId: "team.writer", state: ExecutionState.SUCCEEDED }]);
    expect(executions[0]?.conversationId).not.toBe(parent.conversationId);
  });

  test("E156 members get no more than the team's run is granted", async () => {
    const use = driver(async (services) => {
      const results = await Promise.all(["a", "b"].map((name) => services.dispatch({ id: name, name, arguments: {} })));
      return results.map(({ result, denial }) => result ?? denial).join(", ");
    });
    const runtime = runtimeOf(
      teamDriver({
        id: "team",
        members: { worker: { driver: use, grants: { toolIds: ["a", "b"], modelRoles: [] } }, bare: { driver: use } },
        run: async ({ ask }) => `${(await ask("worker", "go")).text}; ${(await ask("bare", "go")).text}`,
      }),
      { tools: [tool("a"), tool("b")], grants: { toolIds: ["a", "b"], modelRoles: [] } },
    );
    expect((await runtime.run("x", OPTIONS)).text).toBe("a done, b done; policy, policy");
    const narrow = { ...OPTIONS, grants: { toolIds: ["a"], modelRoles: [] } };
    expect((await runtime.run("x", narrow)).text).toBe("a done, policy; policy, policy");
  });

  test("E157 cancelling the parent cancels its children", async () => {
    const started = Promise.withResolvers<void>();
    const served = await openServed(
      teamDriver({
        id: "team",
        members: {
          slow: {
            driver: driver((services, request) => {
              started.resolve();
              return SLOW.start(request, services);
            }),
          },
        },
        run: async ({ ask }) => (await ask("slow", "wait")).status,
      }),
    );
    const parent = await served.start("go");
    await started.promise;
    await served.runtime.cancelExecution(
      ADA,
      create(CancelExecutionRequestSchema, { executionId: parent.id, reason: "enough", wait: true }),
    );
    const { executions } = await served.runtime.listExecutions(
      ADA,
      create(ListExecutionsRequestSchema, { rootExecutionId: parent.id }),
    );
    expect(executions.map(({ state }) => state)).toEqual([ExecutionState.CANCELLED, ExecutionState.CANCELLED]);
  });

  test("E158 a child's failure is a result, its beginning and end are in the parent's log, and strangers are no members", async () => {
    const runtime = runtimeOf(
      teamDriver({
        id: "team",
        members: { broken: { driver: driver(() => Promise.reject(new Error("no idea"))) } },
        run: async ({ ask }) => {
          await expect(ask("constructor", "x")).rejects.toThrow("no member");
          const { status, reason } = await ask("broken", "x");
          return `${status} ${reason?.message}`;
        },
      }),
    );
    const handle = runtime.start("x", OPTIONS);
    expect((await handle.result()).text).toBe("failed no idea");
    const told = (await eventsOf(handle)).flatMap(({ payload }) =>
      payload.type === "provider.event" ? [payload.eventType] : [],
    );
    expect(told).toEqual(["team.child_started", "team.child_ended"]);
  });
});
