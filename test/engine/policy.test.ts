import { describe, expect, test } from "vitest";
import { checkGrants } from "../../src/engine/grants.js";
import { type CallFacts, decideCall } from "../../src/engine/policy.js";
import { createRunContext } from "../../src/engine/run-context.js";
import type { ExecutionPolicy, RunMode, ToolEffect } from "../../src/engine.js";
import { ADA, runOnce, tool } from "./fixtures.js";

function facts(more: Partial<CallFacts> = {}, runMode: RunMode = "execute"): CallFacts {
  const ctx = createRunContext({
    runId: "r1",
    sessionId: "s1",
    identity: ADA,
    runMode,
    signal: new AbortController().signal,
    state: {},
    rootRunId: "r1",
  });
  return {
    call: { id: "c1", name: "a", arguments: {} },
    ctx,
    grants: checkGrants({ toolIds: ["a"], modelRoles: [] }),
    revision: 0,
    allowRevisionEffects: false,
    count: () => true,
    policy: { decide: () => ({ action: "allow" }) },
    ...more,
  };
}

describe("the decision", () => {
  test("E68 grants come first, then revisions, then the budget, then the policy; the first denial counts", async () => {
    const asked: string[] = [];
    const policy: ExecutionPolicy = {
      decide: () => {
        asked.push("policy");
        return { action: "deny", reason: "the policy" };
      },
    };
    const all = { policy, count: () => false, revision: 1 };
    const reasons = [
      await decideCall(facts({ ...all, grants: checkGrants({ toolIds: [], modelRoles: [] }) })),
      await decideCall(facts({ ...all, active: new Set(["b"]) })),
      await decideCall(facts(all)),
      await decideCall(facts({ ...all, allowRevisionEffects: true })),
    ].map(({ reason }) => reason);
    expect(reasons).toEqual([
      "a is not granted",
      "a is not active in this step",
      "a revision may not have new effects",
      "the budget of tool calls is used up",
    ]);
    expect(asked).toEqual([]);
    expect(await decideCall(facts({ policy }))).toEqual({ action: "deny", reason: "the policy" });
  });

  test.each([
    ["an unknown action", () => ({ action: "maybe" })],
    ["nothing", () => undefined],
    ["a rejection", () => Promise.reject(new Error("down"))],
  ])("E69 a policy that gives %s denies", async (_what, decide) => {
    expect(await decideCall(facts({ policy: { decide: decide as never } }))).toMatchObject({ action: "deny" });
  });

  test.each<[ToolEffect | undefined, "allow" | "ask" | "deny", string]>([
    ["read", "allow", "allow"],
    ["read", "ask", "ask"],
    [undefined, "allow", "ask"],
    [undefined, "deny", "deny"],
    ["write", "allow", "deny"],
    ["execute", "allow", "deny"],
    ["external", "ask", "deny"],
  ])("E70 in plan mode an effect of %s that the policy would %s is: %s", async (effect, action, expected) => {
    const decided = await decideCall(
      facts({ policy: { decide: () => ({ action }) }, ...(effect === undefined ? {} : { effect }) }, "plan"),
    );
    expect(decided.action).toBe(expected);
  });

  test("E71 the host's resolveEffect knows better than the tool", async () => {
    const policy: ExecutionPolicy = { decide: () => ({ action: "allow" }), resolveEffect: () => "read" };
    expect(await decideCall(facts({ policy, effect: "write" }, "plan"))).toEqual({ action: "allow" });
  });

  test("E72 a run in plan mode reads and writes nothing", async () => {
    const written: string[] = [];
    const tools = [tool("look"), tool("save", { effect: "write", execute: () => written.push("x") })];
    const result = await runOnce(
      async (services) => {
        const look = await services.dispatch({ id: "c1", name: "look", arguments: {} });
        const save = await services.dispatch({ id: "c2", name: "save", arguments: {} });
        return `${look.result}, ${save.denial}`;
      },
      { tools, grants: { toolIds: ["look", "save"], modelRoles: [] } },
      { runMode: "plan" },
    );
    expect(result.text).toBe("look done, policy");
    expect(written).toEqual([]);
  });
});
