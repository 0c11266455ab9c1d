import { readdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { until } from "../../support/processes.js";
import { type AgentFixture, closeFixtures, openAgent } from "./fixture.js";

afterEach(closeFixtures);

/** Runs one execution and returns what the agent remembers in it, as it says itself. */
async function recall({ run }: AgentFixture, conversationId: string): Promise<string[]> {
  const live = await run([{ recall: true }], { conversationId });
  expect((await live.end()).state).toBe(ExecutionState.SUCCEEDED);
  return JSON.parse(live.text()).before;
}

describe("the executions of a conversation", () => {
  test("share one process and one session", async () => {
    const fixture = await openAgent();
    const first = await fixture.run("one");
    await first.end();
    const before = await fixture.alive();
    expect(await recall(fixture, first.conversationId)).toEqual(["one"]);
    expect(await fixture.alive()).toEqual(before);
  });

  test("go on with the session in another process after a cancel", async () => {
    const fixture = await openAgent();
    const first = await fixture.run([{ hang: true }]);
    await first.until("the prompt", (run) => run.all("providerEvent").length > 0);
    await first.cancel();
    await first.end();
    expect(await fixture.alive()).toEqual([]);
    expect(await recall(fixture, first.conversationId)).toEqual(['[{"hang":true}]']);
  });

  test.each([
    ["replays before it answers", []],
    ["answers before it replays", ["--late-replay"]],
  ])("see nothing of what an agent replays that %s", async (_, flags) => {
    const fixture = await openAgent({ flags });
    const first = await fixture.run("one");
    await first.end();
    const again = await fixture.reopen();
    const second = await again.run([{ text: "two" }], { conversationId: first.conversationId });
    expect(second.conversationId).toBe(first.conversationId);
    expect((await second.end()).finalOutput).toBe("two");
    expect(second.all("providerEvent")[0]?.data).toMatchObject({ loaded: true });
    expect(second.all("outputTextDelta")).toHaveLength(1);
  });

  test("go on with the session of an agent that resumes and does not load", async () => {
    const fixture = await openAgent({ flags: ["--resume"], unset: ["loadSession"] });
    expect(fixture.runtime.getProvider("test").manifest?.capabilities).toMatchObject({
      "conversation.continuity": SupportLevel.NATIVE,
    });
    const first = await fixture.run("one");
    await first.end();
    const again = await fixture.reopen();
    expect(await recall(again, first.conversationId)).toEqual(["one"]);
  });

  test("are told as text to an agent that cannot load its session", async () => {
    const fixture = await openAgent({ flags: ["--no-load"] });
    const first = await fixture.run("the password is swordfish");
    await first.end();
    const again = await fixture.reopen();
    const second = await again.run("what is it?", { conversationId: first.conversationId });
    await second.end();
    expect(second.all("providerEvent")[0]?.data).toMatchObject({ loaded: false });
    const [told] = await recall(again, first.conversationId);
    expect(told).toContain("User: the password is swordfish\n\nYou: the password is swordfish");
    expect(told).toMatch(/what is it\?$/);
  });

  test("start anew where the agent has lost its session", async () => {
    const fixture = await openAgent();
    const first = await fixture.run("one");
    await first.end();
    const again = await fixture.reopen({ env: { ACP_AGENT_STATE: "/dev/null" } });
    const second = await again.run("two", { conversationId: first.conversationId });
    expect((await second.end()).state).toBe(ExecutionState.SUCCEEDED);
    expect(again.logged.join()).toContain("did not load its earlier session");
  });

  test("of different conversations run at once, each in its own process", async () => {
    const fixture = await openAgent();
    const lives = await Promise.all(["a", "b", "c"].map((text) => fixture.run([{ sleep: 200 }, { text }])));
    const outputs = await Promise.all(lives.map(async (live) => (await live.end()).finalOutput));
    expect(outputs).toEqual(["a", "b", "c"]);
  });
});

describe("what is kept of conversations that nobody used for 30 days", () => {
  const dataOf = async ({ root }: AgentFixture): Promise<string> => {
    const providers = join(root, "data", "providers");
    return join(providers, ...(await readdir(providers)));
  };
  const long = new Date(Date.now() - 31 * 24 * 3_600_000);

  test("is their session and an empty folder: both are removed, and what somebody may want stays", async () => {
    const fixture = await openAgent({ unset: ["cwd"] });
    const names = ["old", "filled", "recent"] as const;
    const lives = await Promise.all(names.map((text) => fixture.run(text)));
    for (const live of lives) await live.end();
    const [old, filled, recent] = lives.map(({ conversationId }) => conversationId) as [string, string, string];
    const data = await dataOf(fixture);
    const folderOf = (id: string): string => join(data, "workspaces", id);
    await writeFile(join(folderOf(filled), "precious.txt"), "");
    await fixture.close();
    for (const id of [old, filled]) {
      for (const path of [folderOf(id), join(data, "sessions", `${id}.json`)]) await utimes(path, long, long);
    }
    const again = await fixture.reopen({ unset: ["cwd"] });
    const kept = async (folder: string) => (await readdir(join(data, folder))).sort();
    await until("they are removed", async () => (await kept("workspaces")).length === 2);
    expect(await kept("workspaces")).toEqual([filled, recent].sort());
    expect(await readdir(folderOf(filled))).toEqual(["precious.txt"]);
    expect(await kept("sessions")).toEqual([`${recent}.json`]);
    expect(await recall(again, recent)).toEqual(["recent"]);
    expect(await recall(again, old)).toEqual([]);
  });

  test("stays while they are in use, also by the same agent", async () => {
    const fixture = await openAgent();
    const live = await fixture.run("one");
    await live.end();
    const data = await dataOf(fixture);
    const file = join(data, "sessions", `${live.conversationId}.json`);
    await utimes(file, long, long);
    await recall(fixture, live.conversationId);
    await until("it is noted", async () => (await stat(file)).mtimeMs > Date.now() - 60_000);
  });
});

describe("an agent with nothing to do", () => {
  test("ends after its time", async () => {
    const fixture = await openAgent({ limits: { idleMs: 50 } });
    const live = await fixture.run("one");
    await live.end();
    await until("it ends", async () => (await fixture.alive()).length === 0);
    expect(await recall(fixture, live.conversationId)).toEqual(["one"]);
  });

  test("that has waited longest ends when there are too many", async () => {
    const fixture = await openAgent({ limits: { maxIdle: 1 }, containment: "marked" });
    for (const text of ["one", "two", "three"]) await (await fixture.run(text)).end();
    await until("one is left", async () => (await fixture.alive()).length === 1);
  });

  test("is ended also while the one before it takes its time to end", async () => {
    const slow = { maxIdle: 1, eofMs: 3_000, termMs: 3_000 };
    const fixture = await openAgent({ flags: ["--ignore-term", "--stay"], limits: slow, containment: "marked" });
    for (const text of ["one", "two", "three"]) await (await fixture.run(text)).end();
    await until("one is left", async () => (await fixture.alive()).length === 1);
  });

  test("that ends by itself leaves nothing, and the next execution starts another", async () => {
    const fixture = await openAgent({ containment: "marked" });
    const live = await fixture.run([{ shell: { command: "sleep 300" } }, { text: "x" }]);
    await live.end();
    const agent = Math.min(...(await fixture.alive()).map(Number));
    process.kill(agent, "SIGKILL");
    await until("what it started is ended", async () => (await fixture.alive()).length === 0);
    expect(await recall(fixture, live.conversationId)).toHaveLength(1);
  });
});

describe("after a restart of the runtime", () => {
  test("a turn whose prompt was sent goes on with the session, and the prompt is not sent again", async () => {
    const fixture = await openAgent();
    const live = await fixture.run([{ text: "half " }, { sleep: 1_000 }, { text: "whole" }]);
    await live.until("text", () => live.text() === "half ");
    const again = await fixture.reopen();
    const resumed = await again.follow(live.id);
    expect(await resumed.end()).toMatchObject({ attempt: 2, state: ExecutionState.SUCCEEDED });
    const prompts = await recall(again, live.conversationId);
    expect(prompts).toHaveLength(2);
    expect(prompts[1]).toContain("You were interrupted");
  });

  test("A07 an open question is the same one still, and is answered once", async () => {
    const fixture = await openAgent();
    const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
    const toolCall = { toolCallId: "t1", title: "go", rawInput: { a: 1 } };
    const live = await fixture.run([{ ask: { toolCall, options } }]);
    const action = await live.action();
    const again = await fixture.reopen();
    const resumed = await again.follow(live.id);
    await resumed.respond(action, { approved: true });
    expect(await resumed.end()).toMatchObject({ attempt: 2, state: ExecutionState.SUCCEEDED });
    expect(resumed.all("actionRequired")).toHaveLength(1);
    expect(resumed.text()).toContain('"optionId":"yes"');
  });

  test("A09 an answer that was handed over is not given again: the question is asked anew", async () => {
    const fixture = await openAgent();
    const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
    const toolCall = { toolCallId: "t1", title: "go", rawInput: { a: 1 } };
    const live = await fixture.run([{ ask: { toolCall, options } }, { once: [{ text: "half" }, { hang: true }] }]);
    await live.respond(await live.action(), { approved: true });
    await live.until("text", () => live.text().includes("half"));
    const again = await fixture.reopen();
    const resumed = await again.follow(live.id);
    await resumed.respond(await resumed.action(2), { approved: true });
    expect(await resumed.end()).toMatchObject({ attempt: 2, state: ExecutionState.SUCCEEDED });
    expect(resumed.all("actionResponded")).toHaveLength(2);
  });

  test("an agent that cannot load its session fails: what it had done is not known", async () => {
    const fixture = await openAgent();
    const live = await fixture.run([{ text: "half" }, { hang: true }]);
    await live.until("text", () => live.text() === "half");
    const again = await fixture.reopen({ env: { ACP_AGENT_STATE: "/dev/null" } });
    const { error } = await (await again.follow(live.id)).end();
    expect(error).toMatchObject({
      reason: FailureReason.PROVIDER_LOST,
      message: expect.stringContaining("is not known"),
    });
  });

  test("an agent that never could is not asked to", async () => {
    const fixture = await openAgent({ flags: ["--no-load"] });
    const live = await fixture.run([{ text: "half" }, { hang: true }]);
    await live.until("text", () => live.text() === "half");
    const again = await fixture.reopen();
    const { error } = await (await again.follow(live.id)).end();
    expect(error?.reason).toBe(FailureReason.RUNTIME_RESTARTED);
  });
});
