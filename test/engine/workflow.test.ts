import { describe, expect, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { SupportLevel } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import {
  createApprovalManager,
  driverProvider,
  HarnessRuntime,
  type WorkflowDriverOptions,
  workflowDriver,
} from "../../src/engine.js";
import { overCrash } from "./crash.js";
import { OPTIONS, runtimeOf, untilAborted } from "./fixtures.js";
import { openServed } from "./served.js";

const GRANTS = { toolIds: ["fetch", "save"], modelRoles: [] };

describe("workflowDriver", () => {
  test("E150 each step is an effect under grants, policy and budgets", async () => {
    const flow = workflowDriver({
      id: "etl",
      run: async ({ step }, { input }) => {
        const rows = await step("fetch", { from: `${input}` }, async ({ from }) => [from, 2]);
        return `saved ${await step("save", { rows }, async (_args, _ctx, key) => /:1:1$/.test(key))}`;
      },
    });
    expect(await runtimeOf(flow, { grants: GRANTS }).run("db", OPTIONS)).toMatchObject({ text: "saved true" });
    const denied = runtimeOf(flow, { grants: { toolIds: ["fetch"], modelRoles: [] } });
    expect(await denied.run("db", OPTIONS)).toMatchObject({
      status: "failed",
      reason: { message: "save is not granted" },
    });
    const approvalManager = createApprovalManager({ policy: ["save"], onApproval: () => ({ approved: false }) });
    const asked = runtimeOf(flow, { grants: GRANTS, approvalManager });
    expect((await asked.run("db", OPTIONS)).status).toBe("failed");
  });

  test("E151 a result that JSON cannot say fails the run", async () => {
    const flow = workflowDriver({
      id: "etl",
      run: async ({ step }) => `${await step("fetch", {}, async () => Number.NaN)}`,
    });
    expect((await runtimeOf(flow, { grants: GRANTS }).run("db", OPTIONS)).status).toBe("failed");
  });

  test("E152 a durable workflow needs a durable store, and resumes with the results of finished steps", async () => {
    const ran: string[] = [];
    const stuck = Promise.withResolvers<void>();
    const options = (block: boolean): WorkflowDriverOptions => ({
      id: "etl",
      durable: true,
      run: async ({ step }) => {
        const rows = await step("fetch", {}, async () => {
          ran.push("fetch");
          return 3;
        });
        const saved = await step("save", {}, async (_args, { signal }, key) => {
          ran.push(`save ${key.split(":").slice(1).join(":")}`);
          if (!block) return "stored";
          stuck.resolve();
          return await untilAborted(signal);
        });
        return `${rows} rows ${saved}`;
      },
    });
    expect(() => new HarnessRuntime({ driver: workflowDriver(options(true)), grants: GRANTS })).toThrow("durable");
    const served = driverProvider(workflowDriver(options(true)), { grants: GRANTS });
    expect(served.manifest.capabilities["execution.resume"]).toBe(SupportLevel.NATIVE);
    const ended = await overCrash({
      driver: (life) => workflowDriver(options(life === 1)),
      options: { grants: GRANTS },
      until: stuck.promise,
    });
    expect(ended).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "3 rows stored", attempt: 2 });
    expect(ran).toEqual(["fetch", "save 1:1", "save 1:1"]);
  });

  test.each(["before", "within"])(
    "E152 a crash %s a later turn's steps: they run, and those of earlier turns do not again",
    async (crash) => {
      const reached = Promise.withResolvers<void>();
      const ran: string[] = [];
      const ended = await overCrash({
        until: reached.promise,
        followUps: ["second"],
        options: { grants: GRANTS },
        driver: (life) =>
          workflowDriver({
            id: "etl",
            durable: true,
            run: async ({ step, services }, { input, turn }) => {
              const hang = async (): Promise<void> => {
                if (life > 1 || turn !== 2) return;
                reached.resolve();
                await untilAborted(services.signal);
              };
              if (crash === "before") await hang();
              const rows = await step("fetch", {}, async (_args, _ctx, key) => {
                ran.push(key.split(":").slice(1).join(":"));
                return `${input}`;
              });
              if (crash === "within") await hang();
              return rows;
            },
          }),
      });
      expect(ended).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "second", attempt: 2 });
      expect(ran).toEqual(["1:0", "2:0"]);
    },
  );

  test("E153 the manifest of a workflow that is not durable says that it cannot resume", async () => {
    const served = await openServed(workflowDriver({ id: "etl", run: async () => "done" }), { grants: GRANTS });
    const [entry] = served.runtime.listProviders();
    expect(entry?.manifest?.capabilities["execution.resume"]).toBe(SupportLevel.UNSUPPORTED);
    expect((await served.wait((await served.start("x")).id)).finalOutput).toBe("done");
  });
});
