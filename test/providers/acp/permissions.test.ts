import { afterEach, describe, expect, test } from "vitest";
import { ActionKind, ActionOptionKind } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { ActionAnswer } from "../../../src/core/provider.js";
import { choicesOf, choose } from "../../../src/providers/acp/permission.js";
import { closeFixtures, openAgent } from "./fixture.js";

afterEach(closeFixtures);

const OPTIONS = [
  { optionId: "always", name: "Always", kind: "allow_always" },
  { optionId: "yes", name: "Yes", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];
const ask = (toolCallId = "t1", options: unknown = OPTIONS, more: object = {}) => ({
  ask: { toolCall: { toolCallId, title: "rm -rf /", kind: "execute", rawInput: { cmd: "rm" }, ...more }, options },
});

describe("a question for permission", () => {
  test("is an approval with the agent's own options, and the call that it is about comes first", async () => {
    const { run } = await openAgent();
    const live = await run([ask()]);
    const action = await live.action();
    expect(action).toMatchObject({
      ...{ kind: ActionKind.APPROVAL, title: "rm -rf /", providerRef: "t1" },
      payload: { tool_call_id: "t1", kind: "execute", input: { cmd: "rm" } },
      options: [
        { id: "always", label: "Always", kind: ActionOptionKind.ALLOW_ALWAYS },
        { id: "yes", label: "Yes", kind: ActionOptionKind.ALLOW_ONCE },
        { id: "no", label: "No", kind: ActionOptionKind.REJECT_ONCE },
      ],
    });
    expect(live.all("toolCallStarted")).toMatchObject([{ toolCallId: "t1", title: "rm -rf /" }]);
    await live.respond(action, { approved: true });
    await live.end();
  });

  test.each([
    ["a plain yes takes allow_once, although allow_always comes first", { approved: true }, "yes"],
    ["a named option is taken", { approved: true, optionId: "always" }, "always"],
    ["a plain no takes reject_once", { approved: false }, "no"],
  ])("%s", async (_, response, optionId) => {
    const { run } = await openAgent();
    const live = await run([ask()]);
    await live.respond(await live.action(), response);
    expect((await live.end()).state).toBe(ExecutionState.SUCCEEDED);
    expect(JSON.parse(live.text())).toEqual({ outcome: { outcome: "selected", optionId } });
  });

  test("a refused call is shown as denied, and a turn that the agent then calls cancelled is a success", async () => {
    const { run } = await openAgent();
    const live = await run([ask(), { stop: "cancelled" }]);
    await live.respond(await live.action(), { approved: false });
    expect((await live.end()).state).toBe(ExecutionState.SUCCEEDED);
    expect(live.all("toolCallCompleted")).toMatchObject([{ toolCallId: "t1", denied: true, error: "refused" }]);
  });

  test("one that nobody answers in time is refused", async () => {
    const { run } = await openAgent();
    const live = await run([ask()], { actionPolicy: { timeout: { seconds: 0n, nanos: 50_000_000 } } });
    await live.end();
    expect(JSON.parse(live.text()).outcome.optionId).toBe("no");
  });

  test("several at once are asked one after another, and each gets its own answer", async () => {
    const { run } = await openAgent();
    const asked = ["a", "b", "c"].map((id) => ask(id, OPTIONS, { title: id }).ask);
    const live = await run([{ ask_all: asked }]);
    for (const [index, response] of [{ approved: true }, { approved: false }, { optionId: "always" }].entries()) {
      await live.respond(await live.action(index + 1), response);
    }
    await live.end();
    const told = live
      .text()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).outcome.optionId);
    expect(told).toEqual(["yes", "no", "always"]);
  });

  test("the turn's time stands still while somebody is asked", async () => {
    const { run } = await openAgent({ limits: { turnMs: 500 } });
    const live = await run([ask(), { text: "went on" }]);
    const action = await live.action();
    await new Promise((resolve) => setTimeout(resolve, 800));
    await live.respond(action, { approved: true });
    expect((await live.end()).state).toBe(ExecutionState.SUCCEEDED);
  });

  test("a cancel answers all that are open before the agent is told, and nobody is asked any more", async () => {
    const { run } = await openAgent();
    const live = await run([{ ask_all: [ask("a").ask, ask("b").ask] }, { sleep: 5_000 }, { text: "never" }]);
    await live.action();
    await live.cancel();
    expect((await live.end()).state).toBe(ExecutionState.CANCELLED);
    expect(live.text()).toBe('{"outcome":{"outcome":"cancelled"}}\n'.repeat(2));
    expect(live.all("actionRequired")).toHaveLength(1);
  });
});

describe("the choice among options", () => {
  const answer = (fields: Partial<ActionAnswer>): ActionAnswer => ({
    ...{ actionId: "a", key: "k", approved: false, optionId: "", value: undefined, metadata: undefined },
    ...{ responder: undefined, expired: false, delivered: false, ...fields },
  });
  const choicesFor = (...kinds: string[]) =>
    choicesOf({ options: kinds.map((kind) => ({ optionId: kind, name: kind, kind })) });

  test.each([
    [["allow_always", "reject_once"], { approved: true }, "reject_once"],
    [["allow_always"], { approved: true }, undefined],
    [["allow_once", "reject_always"], { approved: false }, undefined],
    [["allow_once", "reject_always"], { approved: false, optionId: "reject_always" }, "reject_always"],
    [["allow_always", "allow_once"], { approved: true, optionId: "gone" }, undefined],
    [["allow_once", "reject_once"], { approved: true, expired: true }, "reject_once"],
    [[], { approved: true }, undefined],
  ])("of %j an answer %j takes %s", (kinds, fields, id) => {
    expect(choose(choicesFor(...kinds), answer(fields))?.id).toBe(id);
  });

  test("options of unknown kinds and with the IDs of others are left out", () => {
    const options = [
      OPTIONS[1],
      { ...OPTIONS[2], optionId: "yes" },
      { optionId: "x", kind: "allow_sometimes" },
      "y",
      null,
    ];
    expect(choicesOf({ options }).map(({ id }) => id)).toEqual(["yes"]);
  });
});

describe("a form that the agent asks for", () => {
  const elicit = (requestedSchema: unknown, mode = "form") => ({ elicit: { mode, message: "Who?", requestedSchema } });
  const schema = {
    type: "object",
    title: null,
    properties: { name: { type: "string", format: null } },
    required: ["name"],
  };

  test("is an action for input with its schema, and the agent gets the values", async () => {
    const { run } = await openAgent();
    const live = await run([elicit(schema)]);
    const action = await live.action();
    expect(action).toMatchObject({ kind: ActionKind.INPUT, title: "Who?", inputSchema: { required: ["name"] } });
    const struct = { fields: { name: { kind: { case: "stringValue" as const, value: "Ada" } } } };
    await live.respond(action, { value: { kind: { case: "structValue", value: struct } } });
    await live.end();
    expect(JSON.parse(live.text())).toEqual({ action: "accept", content: { name: "Ada" } });
  });

  test.each([
    ["in a browser", elicit(schema, "url")],
    ["with a schema that is none", elicit({ type: "object", properties: { a: { type: 7 } } })],
  ])("%s is declined", async (_, step) => {
    const { run } = await openAgent();
    const live = await run([step]);
    expect((await live.end()).state).toBe(ExecutionState.SUCCEEDED);
    expect(JSON.parse(live.text())).toEqual({ action: "decline" });
  });

  test("is declined where the settings do not offer it", async () => {
    const { run } = await openAgent({ elicitation: false });
    const live = await run([elicit(schema)]);
    expect((await live.end()).state).toBe(ExecutionState.SUCCEEDED);
    expect(JSON.parse(live.text())).toEqual({ action: "decline" });
  });
});
