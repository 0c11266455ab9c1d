import { describe, expect, test } from "vitest";
import { type ApprovalManager, createApprovalManager, type HarnessRuntimeConfig } from "../../src/engine.js";
import { ADA, eventOf, eventsOf, ManualClock, OPTIONS, runtimeOf, storeThat, tool } from "./fixtures.js";

const ASK: Partial<HarnessRuntimeConfig> = {
  tools: [tool("a")],
  grants: { toolIds: ["a"], modelRoles: [] },
  executionPolicy: { decide: () => ({ action: "ask", reason: "it is dangerous" }) },
};

function begin(config: Partial<HarnessRuntimeConfig>) {
  const runtime = runtimeOf(
    async (services) => {
      const { result, denial, error } = await services.dispatch({ id: "c1", name: "a", arguments: { x: 1 } });
      return `${result ?? denial}${error === undefined ? "" : `: ${error}`}`;
    },
    { ...ASK, ...config },
  );
  return runtime.start("hi", OPTIONS);
}

describe("approvals", () => {
  test("E74 with no manager and nobody to answer, a call that needs approval is denied as approval_required", async () => {
    expect((await begin({}).result()).text).toMatch(/^approval_required/);
  });

  test("E75 a request is an action in the log, and the callback answers it", async () => {
    const asked: unknown[] = [];
    const approvalManager = createApprovalManager({
      onApproval: (request) => {
        asked.push([request.call.name, request.call.arguments, request.reason, request.userId]);
        return { approved: true };
      },
    });
    const handle = begin({ approvalManager });
    expect((await handle.result()).text).toBe("a done");
    expect(asked).toEqual([["a", { x: 1 }, "it is dangerous", "ada"]]);
    const types = (await eventsOf(handle)).map(({ payload }) => payload.type);
    expect(types.indexOf("action.required")).toBeLessThan(types.indexOf("action.responded"));
  });

  test("a manager that fails denies, and says why", async () => {
    const approvalManager = Object.assign(createApprovalManager(), {
      check: () => Promise.reject(new Error("the desk is closed")),
    });
    const { text } = await begin({ approvalManager }).result();
    expect(text).toMatch(/^approval_denied: .*the desk is closed/);
  });

  test("E75 the request follows the start of its call in the log, also while earlier events are being stored", async () => {
    const approvalManager = createApprovalManager({ onApproval: () => ({ approved: true }) });
    const store = storeThat(() => new Promise((resolve) => setImmediate(resolve)));
    const runtime = runtimeOf(
      async (services) => {
        services.emit({ type: "output.text.delta", text: "first " });
        return `${(await services.dispatch({ id: "c1", name: "a", arguments: {} })).result}`;
      },
      { ...ASK, approvalManager, store },
    );
    const types = (await eventsOf(runtime.start("hi", OPTIONS))).map(({ payload }) => payload.type);
    expect(types.filter((type) => /^(output.text.delta|tool|action)/.test(type))).toEqual([
      "output.text.delta",
      "tool.call.started",
      "action.required",
      "action.responded",
      "tool.call.completed",
    ]);
  });

  test("E75 any number of calls may need approval at once: each is asked for in its turn", async () => {
    const approvalManager = createApprovalManager({ onApproval: () => ({ approved: true }) });
    const runtime = runtimeOf(
      async (services) => {
        const calls = Array.from({ length: 200 }, (_, index) =>
          services.dispatch({ id: `c${index}`, name: "a", arguments: { index } }),
        );
        const results = await Promise.all(calls);
        return `${results.filter(({ result }) => result === "a done").length} done`;
      },
      { ...ASK, approvalManager },
    );
    expect(await runtime.run("hi", OPTIONS)).toMatchObject({ status: "completed", text: "200 done" });
  });

  test("E76 approve and deny answer what is pending, and a second answer finds nothing", async () => {
    const approvalManager = createApprovalManager();
    for (const [word, expected] of [
      ["approve", "a done"],
      ["deny", "approval_denied: its approval was denied: not now"],
    ] as const) {
      const handle = begin({ approvalManager });
      const { action } = await eventOf(handle, "action.required");
      expect(action).toMatchObject({
        kind: "approval",
        title: "Allow a?",
        payload: { tool: "a", arguments: { x: 1 } },
      });
      const [pending] = approvalManager.listPending({ tenantId: ADA.tenantId, runId: handle.runId });
      expect(pending?.id).toBe(action.id);
      expect(approvalManager.listPending({ tenantId: "other" })).toEqual([]);
      expect(approvalManager[word](action.id, "not now")).toBe(true);
      expect(approvalManager[word](action.id)).toBe(false);
      expect((await handle.result()).text).toBe(expected);
    }
  });

  test.each([
    ["deny", "completed", "approval_denied: its approval was denied: nobody answered in 300000 ms"],
    ["approve", "completed", "a done"],
    ["throw", "failed", ""],
  ] as const)(
    "E77 after 300,000 ms without an answer the timeout's action is %s",
    async (timeoutAction, status, text) => {
      const clock = new ManualClock();
      const handle = begin({ clock, approvalManager: createApprovalManager({ clock, timeoutAction }) });
      await eventOf(handle, "action.required");
      clock.advance(299_999);
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(1);
      const result = await handle.result();
      expect(result).toMatchObject({ status, text });
      if (status === "failed") expect(result.reason?.code).toBe("action_timeout");
    },
  );

  test("E76 a manager that fails denies, with what it said", async () => {
    const broken = { ...createApprovalManager(), policy: "all" as const };
    for (const check of [() => Promise.reject(new Error("no network")), () => Promise.resolve(undefined as never)]) {
      const handle = begin({ approvalManager: { ...broken, check, deny: () => false, cancelRun: () => {} } });
      expect((await handle.result()).text).toMatch(
        /^approval_denied: its approval was denied: (no network|.*undefined)/,
      );
    }
    const long = createApprovalManager({ onApproval: () => ({ approved: false, reason: "x".repeat(100_000) }) });
    expect((await begin({ approvalManager: long }).result()).text).toMatch(/^approval_denied/);
  });

  test.each<[string, (manager: ApprovalManager, runId: string) => void]>([
    ["the manager is closed", (manager) => manager.close()],
    ["the run's approvals are called off", (manager, runId) => manager.cancelRun(runId)],
  ])("E78 where %s what is pending is denied, and the run goes on", async (_what, act) => {
    const approvalManager = createApprovalManager();
    const handle = begin({ approvalManager });
    await eventOf(handle, "action.required");
    await Promise.resolve();
    act(approvalManager, handle.runId);
    expect(await handle.result()).toMatchObject({
      status: "completed",
      text: expect.stringMatching(/^approval_denied/),
    });
  });

  test("E78 cancelling denies what is pending", async () => {
    const approvalManager = createApprovalManager();
    let denial: string | undefined;
    const runtime = runtimeOf(
      async (services) => {
        ({ denial } = await services.dispatch({ id: "c1", name: "a", arguments: {} }));
        return "";
      },
      { ...ASK, approvalManager },
    );
    const handle = runtime.start("hi", OPTIONS);
    await eventOf(handle, "action.required");
    handle.cancel();
    expect((await handle.result()).status).toBe("cancelled");
    expect(denial).toBe("cancelled");
    expect(approvalManager.listPending({ tenantId: ADA.tenantId })).toEqual([]);
    expect((await eventsOf(handle)).map(({ payload }) => payload.type)).toContain("action.abandoned");
  });

  test.each<[string, Partial<HarnessRuntimeConfig>, readonly ("none" | "all" | string)[]]>([
    ["the tool says so", { tools: [tool("a", { requiresApproval: true })] }, ["none"]],
    ["the tool says so of these arguments", { tools: [tool("a", { requiresApproval: ({ x }) => x === 1 })] }, ["none"]],
    ["the manager wants all", {}, ["all"]],
    ["the manager names it", {}, ["a"]],
  ])("E79 approval is wanted where %s", async (_what, config, [policy]) => {
    const wanted = policy === "none" || policy === "all" ? policy : [policy ?? ""];
    const approvalManager = createApprovalManager({ policy: wanted, onApproval: () => ({ approved: false }) });
    const allow = { executionPolicy: { decide: () => ({ action: "allow" as const }) } };
    expect((await begin({ ...allow, ...config, approvalManager }).result()).text).toMatch(/^approval_denied/);
  });

  test("E80 several at once wait one behind the other, and each gets its own answer", async () => {
    const approvalManager = createApprovalManager({ onApproval: ({ call }) => ({ approved: call.id !== "c2" }) });
    const runtime = runtimeOf(
      async (services) => {
        const calls = ["c1", "c2", "c3"].map((id) => services.dispatch({ id, name: "a", arguments: { id } }));
        return (await Promise.all(calls)).map(({ denial }) => denial ?? "ran").join(" ");
      },
      { ...ASK, approvalManager },
    );
    expect((await runtime.run("hi", OPTIONS)).text).toBe("ran approval_denied ran");
  });

  test("E81 a closed manager denies what waits and what comes", async () => {
    const approvalManager = createApprovalManager();
    const request = { runId: "r", sessionId: "s", ...ADA, call: { id: "c", name: "a", arguments: {} } };
    const waiting = approvalManager.check({ id: "x", ...request });
    approvalManager.close();
    const coming = approvalManager.check({ id: "y", ...request });
    expect(await Promise.all([waiting, coming])).toMatchObject(Array(2).fill({ approved: false, by: "cancelled" }));
  });
});
