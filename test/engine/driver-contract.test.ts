import { describe, expect, test } from "vitest";
import { driverChecks, testDriverContract } from "../../src/driver-contract.js";
import { agentDriver, teamDriver, workflowDriver } from "../../src/engine.js";
import { answer, driver, MAIN, model, tool } from "./fixtures.js";

describe("a driver that echoes", () => {
  testDriverContract(test, { driver: () => driver((_services, { input }) => `${input}`) });
});

describe("the stock agent", () => {
  testDriverContract(test, {
    driver: () => agentDriver({ stream: false }),
    config: () => ({
      grants: { ...MAIN, toolIds: ["save"] },
      tools: [tool("save", { effect: "write" })],
      models: {
        main: {
          provider: model((messages) => {
            if (messages.at(-1)?.role === "tool") return answer("saved");
            const toolCalls = [{ id: `c${messages.length}`, name: "save", arguments: {} }];
            return answer("", { message: { role: "assistant", content: "", toolCalls }, finishReason: "tool_calls" });
          }),
        },
      },
    }),
  });
});

describe("a workflow", () => {
  testDriverContract(test, {
    driver: () => workflowDriver({ id: "flow", run: ({ step }) => step("save", {}, async () => "saved") }),
    config: () => ({ grants: { toolIds: ["save"], modelRoles: [] } }),
  });
});

describe("a team", () => {
  testDriverContract(test, {
    driver: () =>
      teamDriver({
        id: "team",
        members: { one: { driver: driver(() => "one") } },
        run: async ({ ask }) => (await ask("one", "go")).text,
      }),
  });
});

test("E194 the contract finds a driver that does not end, one that fails and one that breaks in two sessions", async () => {
  const failures = async (script: Parameters<typeof driver>[0]): Promise<readonly string[]> => {
    const failed: string[] = [];
    for (const { name, run } of driverChecks({ driver: () => driver(script), endsWithinMs: 50 })) {
      await run().catch(() => failed.push(name));
    }
    return failed;
  };
  expect(await failures(() => new Promise(() => {}))).toContain(
    "it ends soon once it is cancelled, with nothing left behind",
  );
  expect((await failures(() => Promise.reject(new Error("no"))))[0]).toMatch("completes its example");
  let running = 0;
  const jealous = await failures(async () => {
    if (++running > 1) throw new Error("busy");
    await new Promise((resolve) => setTimeout(resolve, 5));
    running--;
    return "ok";
  });
  expect(jealous).toContain("runs of different sessions do not disturb each other");
});
