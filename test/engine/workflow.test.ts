import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { StartExecutionRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { SupportLevel } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { openRuntime } from "../../src/core/open-runtime.js";
import type { Store } from "../../src/core/store.js";
import {
  createApprovalManager,
  driverProvider,
  HarnessRuntime,
  type WorkflowDriverOptions,
  workflowDriver,
} from "../../src/engine.js";
import { openSqliteStore } from "../../src/store/sqlite.js";
import { ADA, OPTIONS, runtimeOf } from "./fixtures.js";
import { openServed } from "./served.js";

const GRANTS = { toolIds: ["fetch", "save"], modelRoles: [] };

const serve = (options: WorkflowDriverOptions, store: Store) =>
  driverProvider(workflowDriver(options), { grants: GRANTS, store, cleanupTimeoutMs: 100 });

describe("workflowDriver", () => {
  test("E150 each step is an effect under grants, policy and budgets", async () => {
    const flow = workflowDriver({
      id: "etl",
      run: async ({ step }, { input }) => {
        const rows = await step("fetch", { from: `${input}` }, async ({ from }) => [from, 2]);
        return `saved ${await step("save", { rows }, async (_args, _ctx, key) => key.endsWith(":1"))}`;
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
    const dir = await mkdtemp(join(tmpdir(), "workflow-"));
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
          ran.push(`save ${key.split(":")[1]}`);
          if (!block) return "stored";
          stuck.resolve();
          return await new Promise<string>((_resolve, reject) =>
            signal.addEventListener("abort", () => reject(signal.reason)),
          );
        });
        return `${rows} rows ${saved}`;
      },
    });
    expect(() => new HarnessRuntime({ driver: workflowDriver(options(true)), grants: GRANTS })).toThrow("durable");

    const path = join(dir, "log.db");
    const before = await openSqliteStore({ path });
    const first = await openRuntime({ store: before, providers: [serve(options(true), before)] });
    const started = await first.startExecution(
      ADA,
      create(StartExecutionRequestSchema, { providerId: "etl", input: { text: "go" } }),
    );
    await stuck.promise;
    await first.close(0);
    await before.close();

    const after = await openSqliteStore({ path });
    const provider = serve(options(false), after);
    expect(provider.manifest.capabilities["execution.resume"]).toBe(SupportLevel.NATIVE);
    const second = await openRuntime({ store: after, providers: [provider] });
    const ended = await second.waitExecution(ADA, started.id, 10_000);
    expect(ended).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "3 rows stored", attempt: 2 });
    expect(ran).toEqual(["fetch", "save 1", "save 1"]);
    await second.close(0);
    await after.close();
    await rm(dir, { recursive: true });
  });

  test("E153 the manifest of a workflow that is not durable says that it cannot resume", async () => {
    const served = await openServed(workflowDriver({ id: "etl", run: async () => "done" }), { grants: GRANTS });
    const [entry] = served.runtime.listProviders();
    expect(entry?.manifest?.capabilities["execution.resume"]).toBe(SupportLevel.UNSUPPORTED);
    expect((await served.wait((await served.start("x")).id)).finalOutput).toBe("done");
  });
});
