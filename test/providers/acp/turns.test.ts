import { randomInt } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import { processesWith } from "../../support/processes.js";
import { closeFixtures, openAgent } from "./fixture.js";

afterEach(closeFixtures);

const toolCall = (fields: object) => ({ update: { sessionUpdate: "tool_call", toolCallId: "a", ...fields } });
const toolUpdate = (fields: object) => ({ update: { sessionUpdate: "tool_call_update", toolCallId: "a", ...fields } });

describe("what an agent does becomes events", () => {
  test("text and reasoning are deltas, grouped by what the agent says together", async () => {
    const { run } = await openAgent();
    const live = await run([{ text: "one " }, { text: "two " }, { think: "hm" }, { text: "three" }, { text: "" }]);
    const execution = await live.end();
    expect(execution).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "one two three" });
    expect(live.all("outputReasoningDelta").map(({ text }) => text)).toEqual(["hm"]);
    const items = live.all("outputTextDelta").map(({ itemId }) => itemId);
    expect(new Set(items).size).toBe(2);
  });

  test("a character that an agent cuts in two is whole again", async () => {
    const { run } = await openAgent();
    const live = await run([{ text: "a\ud83d" }, { text: "\ude00b" }, { text: "c\ud83d" }]);
    expect((await live.end()).finalOutput).toBe("a😀bc");
  });

  test("a call is started, updated and completed once, whatever comes first, twice or late", async () => {
    const { run } = await openAgent();
    const live = await run([
      toolUpdate({ title: "Run", kind: "execute", rawInput: { cmd: "ls" }, status: "in_progress" }),
      toolCall({ title: "Run", status: "pending" }),
      toolUpdate({ content: [{ type: "content", content: { type: "text", text: "half" } }] }),
      toolUpdate({ content: [{ type: "content", content: { type: "text", text: "half and half" } }] }),
      toolUpdate({ status: "completed", rawOutput: { exit: 3 } }),
      toolCall({ title: "Run", status: "pending" }),
      toolUpdate({ status: "completed" }),
    ]);
    await live.end();
    expect(live.all("toolCallStarted")).toMatchObject([{ toolCallId: "a", name: "execute", title: "Run" }]);
    expect(live.all("toolCallCompleted")).toHaveLength(1);
    expect(live.all("toolCallCompleted")[0]).toMatchObject({ name: "execute", title: "Run", error: "", denied: false });
    expect(JSON.stringify(live.all("toolCallCompleted")[0]?.output)).toContain("half and half");
  });

  test("a call with the id of one that has ended is another call", async () => {
    const { run } = await openAgent();
    const live = await run([
      toolCall({ title: "First", rawInput: { n: 1 }, status: "completed" }),
      toolCall({ title: "Second", rawInput: { n: 2 }, status: "pending" }),
      toolUpdate({ status: "failed", content: [{ type: "content", content: { type: "text", text: "no such file" } }] }),
    ]);
    await live.end();
    expect(live.all("toolCallStarted").map(({ toolCallId }) => toolCallId)).toEqual(["a", "a#2"]);
    expect(live.all("toolCallCompleted")).toMatchObject([
      { toolCallId: "a", error: "" },
      { toolCallId: "a#2", error: "no such file" },
    ]);
  });

  test("the calls of an execution have different ids, although the agent's are the same in each turn", async () => {
    const { run } = await openAgent();
    const steps = [{ sleep: 200 }, toolCall({ title: "Cat", status: "completed" })];
    const live = await run(steps);
    await live.send(JSON.stringify(steps));
    await live.end();
    expect(live.all("toolCallStarted").map(({ toolCallId }) => toolCallId)).toEqual(["a", "a#2"]);
  });

  test("a call that is left open is closed with its turn", async () => {
    const { run } = await openAgent();
    const live = await run([toolCall({ title: "Forgotten", status: "in_progress" }), { text: "done" }]);
    expect((await live.end()).state).toBe(ExecutionState.SUCCEEDED);
    expect(live.all("toolCallCompleted")).toMatchObject([
      { toolCallId: "a", error: "the turn ended before the call did" },
    ]);
  });

  test("a plan is the plan, and what only the protocol knows is an event of its own", async () => {
    const { run } = await openAgent();
    const entries = [{ content: "look", priority: "high", status: "in_progress" }];
    const live = await run([
      { update: { sessionUpdate: "plan", entries } },
      { update: { sessionUpdate: "current_mode_update", currentModeId: "code" } },
      { update: { sessionUpdate: "Some-New.thing", of: ["any", { kind: null }] } },
      {
        update: {
          sessionUpdate: "agent_message_chunk",
          content: { type: "image", data: "A".repeat(400_000), mimeType: "image/png" },
        },
      },
    ]);
    await live.end();
    expect(live.all("planUpdated")).toMatchObject([{ entries: [{ content: "look", priority: "high", state: 2 }] }]);
    expect(live.all("providerEvent").map(({ type }) => type)).toEqual([
      ...["acp.session", "acp.current_mode_update", "acp.some-new_thing", "acp.agent_message_chunk"],
    ]);
    expect(live.all("providerEvent")[3]?.data).toMatchObject({
      content: { size_bytes: 300_000, mimeType: "image/png" },
    });
  });

  test("a result of many megabytes is cut and not lost", async () => {
    const { run } = await openAgent();
    const text = "0123456789".repeat(100_000);
    const live = await run([
      toolCall({ title: "Cat", status: "completed", rawInput: text, rawOutput: { deep: [text] } }),
    ]);
    expect((await live.end()).state).toBe(ExecutionState.SUCCEEDED);
    expect(JSON.stringify(live.all("toolCallCompleted")[0]?.output)).toContain("[cut]");
  });
});

test("no name of an agent's is too long for an event, nor is its error", async () => {
  const { run } = await openAgent();
  const long = "n".repeat(1_000_000);
  const entries = [{ content: long, priority: long, status: "pending" }];
  const live = await run([
    ...[toolCall({ title: long, kind: long, name: long }), { update: { sessionUpdate: long } }],
    ...[{ update: { sessionUpdate: "plan", entries } }, { error: { code: 1, message: long } }],
  ]);
  const { error } = await live.end();
  expect(error?.message).toMatch(/^test reported an error: nnn/);
  expect(live.all("toolCallStarted")).toHaveLength(1);
  expect(live.all("planUpdated")).toHaveLength(1);
});

describe("how a turn ends", () => {
  test.each([
    ["refusal", "refused the request"],
    ["max_tokens", "ask for less"],
    ["max_turn_requests", "follow_up"],
    ["cancelled", "ended the turn as cancelled, unasked"],
    ["tired", 'not known: "tired"'],
  ])("the stop reason %s is a failure that says so", async (reason, message) => {
    const { run } = await openAgent();
    const execution = await (await run([{ text: "half" }, { stop: reason }])).end();
    expect(execution.error).toMatchObject({
      reason: FailureReason.PROVIDER_ERROR,
      message: expect.stringContaining(message),
    });
  });

  test.each([
    [{ code: -32603, message: "Internal error", data: { details: "429 no quota" } }, "Internal error: 429 no quota"],
    [{ code: 429, message: "too many requests" }, "too many requests"],
    [{ code: -32603, message: "Internal error", data: "the model is gone" }, "the model is gone"],
    [{ code: -32000, message: "Authentication required" }, "needs a login"],
    [{ code: -32000, message: "Server error", data: { details: "your API key has expired" } }, "needs a login"],
    [
      { code: -32000, message: "the model is overloaded" },
      "reported an error: the model is overloaded. Its code, -32000, may",
    ],
  ])("the error %j is told", async (error, message) => {
    const { run } = await openAgent();
    const execution = await (await run([{ error }])).end();
    expect(execution.error?.message).toContain(message);
  });

  test("an agent that ends in the middle of a turn is lost, with its last words but no secrets", async () => {
    const { run, alive } = await openAgent({ flags: ["--no-load"], env: { TEST_API_KEY: "very-secret-value" } });
    const words = "panic: token=abcdef123456 very-secret-value\n\u001b[31mBearer abcdefghijkl\u001b[0m";
    const execution = await (await run([{ text: "x" }, { stderr: words }, { sleep: 50 }, { exit: 7 }])).end();
    expect(execution.error?.reason).toBe(FailureReason.PROVIDER_LOST);
    expect(execution.error?.message).toContain("ended with exit code 7");
    expect(execution.error?.message).toContain("panic: token=[redacted] [redacted]\nBearer [redacted]");
    expect(await alive()).toEqual([]);
  });

  test("an agent that is killed is lost, what it had started is ended, and the next attempt goes on with the session", async () => {
    const { run, alive } = await openAgent();
    const nap = `sleep 300.${randomInt(1e6, 1e7)}`;
    const live = await run([
      { shell: { command: nap } },
      { once: [{ text: "half " }, { kill: true }] },
      { text: "whole" },
    ]);
    const execution = await live.end();
    expect(execution).toMatchObject({ state: ExecutionState.SUCCEEDED, attempt: 2, finalOutput: "half whole" });
    expect(live.all("runResumed")[0]?.previousFailure?.message).toContain("ended by SIGKILL");
    expect(live.all("providerEvent").at(-1)?.data).toMatchObject({ loaded: true });
    expect((await alive()).length).toBeGreaterThan(0);
    expect(await processesWith(nap.replace(" ", "\0"))).toHaveLength(1);
  });

  test("a turn that takes longer than it may is stopped, and says what to do", async () => {
    const { run, alive } = await openAgent({ limits: { turnMs: 300 } });
    const execution = await (await run([{ text: "x" }, { hang: true }])).end();
    expect(execution.error?.message).toContain("raise limits.turn_ms");
    expect(await alive()).toEqual([]);
  });
});

describe("input", () => {
  test("a follow_up is the next prompt of the same session", async () => {
    const { run } = await openAgent();
    const live = await run([{ slow: { words: 3, ms: 30 } }]);
    await live.until("text", () => live.text() !== "");
    await live.send('[{"recall":true}]');
    await live.end();
    expect(live.text(1)).toBe("w0 w1 w2 ");
    expect(JSON.parse(live.text(2)).before).toEqual(['[{"slow":{"words":3,"ms":30}}]']);
  });

  test("a replace cancels the prompt and sends another, in the same process", async () => {
    const { run, alive } = await openAgent();
    const live = await run([{ text: "first" }, { hang: true }]);
    await live.until("text", () => live.text() === "first");
    const before = await alive();
    await live.send('[{"recall":true}]', InputMode.REPLACE);
    expect((await live.end()).state).toBe(ExecutionState.SUCCEEDED);
    expect(JSON.parse(live.text(2)).before).toEqual(['[{"text":"first"},{"hang":true}]']);
    expect(await alive()).toEqual(before);
  });

  test("a replace of a prompt that does not stop goes on in another process, with the session", async () => {
    const { run } = await openAgent({ limits: { interruptMs: 200 } });
    const live = await run([{ text: "first" }, { freeze: true }]);
    await live.until("text", () => live.text() === "first");
    await live.send('[{"recall":true}]', InputMode.REPLACE);
    expect((await live.end()).state).toBe(ExecutionState.SUCCEEDED);
    expect(JSON.parse(live.text(2)).before).toEqual(['[{"text":"first"},{"freeze":true}]']);
  });

  test("attachments reach the agent in the form that it takes", async () => {
    const attachments = [
      { mediaType: "text/plain", name: "a.txt", source: { case: "data" as const, value: Buffer.from("hello") } },
      { mediaType: "image/png", source: { case: "data" as const, value: Buffer.from("png") } },
      { mediaType: "text/html", name: "b", source: { case: "uri" as const, value: "https://example.com/b" } },
    ];
    const { run } = await openAgent();
    const live = await run("look", { attachments });
    await live.end();
    expect(JSON.parse(live.text())).toEqual({
      ...{ type: "resource_link", uri: "https://example.com/b", name: "b", mimeType: "text/html" },
    });
    const second = await run([{ recall: true }], { conversationId: live.conversationId });
    await second.end();
    const [told] = JSON.parse(second.text()).before;
    expect(told).toMatch(/"text":"hello"/);
    expect(told).toMatch(/"data":"cG5n"/);
  });

  test("an attachment that the agent cannot take is refused with a way out", async () => {
    const { run } = await openAgent({ flags: ["--plain"] });
    const source = { case: "data" as const, value: Buffer.from("%PDF") };
    const execution = await (await run("look", { attachments: [{ mediaType: "application/pdf", source }] })).end();
    expect(execution.error?.message).toContain("put the file in the workspace");
  });
});
