import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fromJsonString } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ActionRequestSchema } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { SendInputResponseSchema } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { ExecutionSchema, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ProviderSchema } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { Script } from "../../src/providers/scripted/script.js";
import { build, type Ended, harness, type Running, type Served, serve, start } from "./support/processes.js";

/** Each test starts processes, which a busy machine takes its time for. */
vi.setConfig({ testTimeout: 180_000 });

let served: Served;

beforeAll(async () => {
  build();
  served = await serve();
}, 120_000);

afterAll(async () => {
  expect(await served.stop()).toMatchObject({ code: 0 });
});

function at(...args: readonly string[]): Promise<Ended> {
  return harness([...args, "--url", served.url]);
}

function scriptArgs(script: Script): readonly string[] {
  return ["--config", JSON.stringify(script)];
}

function running(script: Script, ...args: readonly string[]): Running {
  return start(["run", "scripted", "in", ...scriptArgs(script), "--url", served.url, ...args]);
}

async function detached(script: Script, ...args: readonly string[]): Promise<string> {
  const { stdout } = await at("run", "scripted", "in", "--detach", ...scriptArgs(script), ...args);
  return stdout.trim();
}

/** Waits until an execution has an open action, by following its events. */
async function opened(executionId: string, count = 1): Promise<string> {
  const watching = start(["watch", executionId, "--types", "action.required", "--json", "--url", served.url]);
  const [lines] = await watching.saw(new RegExp(`(^.*actionRequired.*\\n){${count}}`, "m"));
  watching.child.kill();
  await watching.ended;
  const { payload } = fromJsonString(EventSchema, lines.trimEnd().split("\n").at(-1) ?? "");
  return payload.case === "actionRequired" ? (payload.value.action?.id ?? "") : "";
}

describe("run", () => {
  test("writes the text to standard output and the rest to standard error, and ends with 0", async () => {
    const { code, stdout, stderr } = await at("run", "scripted", "hello there");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "hello there\n" });
    expect(stderr).toMatch(/^exe_\w+\nSUCCEEDED \(.*\)\n$/);
  });

  test("shows reasoning and tool calls as lines of standard error, without colours", async () => {
    const steps = [{ reasoning: "hm" }, { tool_call: { name: "read", input: { a: 1 }, output: "x" } }, { text: "ok" }];
    const { stdout, stderr } = await running({ steps }).ended;
    expect(stdout).toBe("ok\n");
    expect(stderr).toContain('hm\n→ read {"a":1}\n✓ read "x"\n');
    expect(stderr).not.toContain("\u001b");
  });

  test("reads the input from standard input where it is -", async () => {
    const { stdout } = await harness(["run", "scripted", "-", "--url", served.url], { input: "from a pipe\n" });
    expect(stdout).toBe("from a pipe\n");
  });

  test("with --json prints every event as one line of ProtoJSON", async () => {
    const { code, stdout } = await at("run", "scripted", "a b", "--json");
    const events = stdout
      .trimEnd()
      .split("\n")
      .map((line) => fromJsonString(EventSchema, line));
    expect(code).toBe(0);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    expect(events.at(-1)?.payload).toMatchObject({ case: "runCompleted", value: { finalOutput: "a b" } });
  });

  test("ends with 1 where it FAILED, and says why", async () => {
    const { code, stderr } = await running({ steps: [{ fail: "no\nway" }] }).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^FAILED PROVIDER_ERROR: no way/m);
  });

  test("is one execution with one idempotency key", async () => {
    const ids = await Promise.all(
      ["--idempotency-key", "--idempotency-key"].map((flag) =>
        at("run", "scripted", "once", "--detach", flag, "key-1"),
      ),
    );
    expect(ids[0]?.stdout).toMatch(/^exe_/);
    expect(ids[0]?.stdout).toBe(ids[1]?.stdout);
  });

  test("says, where nobody can be asked, how to answer, and goes on when that is done", async () => {
    const asking = running({ steps: [{ approval: { title: "Go?" } }, { text: "gone" }] });
    const [, command = ""] = await asking.saw(/approval needed: Go\?\nanswer with: npx harness (.*)\n/);
    expect((await harness(command.split(" "))).code).toBe(0);
    expect(await asking.ended).toMatchObject({ code: 0, stdout: "gone\n" });
  });

  test("cancels at Ctrl-C and ends with 3", async () => {
    const sleeping = running({ steps: [{ text: "zz" }, { sleep_ms: 60_000 }] });
    await sleeping.saw(/zz/);
    sleeping.child.kill("SIGINT");
    const { code, stderr } = await sleeping.ended;
    expect(code).toBe(3);
    expect(stderr).toMatch(/cancelling; Ctrl-C again leaves it running\n[\s\S]*CANCELLED Ctrl-C at the command line/);
  });

  test("leaves it running at a second Ctrl-C", async () => {
    const stubborn = running({ steps: [{ ignore_abort: true }, { text: "zz" }, { sleep_ms: 3_000 }] });
    await stubborn.saw(/zz/);
    stubborn.child.kill("SIGINT");
    await stubborn.saw(/cancelling;/);
    stubborn.child.kill("SIGINT");
    const { code, stderr } = await stubborn.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/follow it with: npx harness watch exe_\w+ --url/);
  });
});

describe("what runs is steered, answered and cancelled", () => {
  test("send hands a steer to the running turn, and wait prints the output", async () => {
    const id = await detached({ steps: [{ await_steer: true }] });
    const sent = await at("send", id, "left", "--mode", "steer", "--json");
    expect(fromJsonString(SendInputResponseSchema, sent.stdout).inputId).toMatch(/^inp_/);
    expect(await at("wait", id)).toMatchObject({ code: 0, stdout: "left\n" });
  });

  test("respond answers the only open action; a second answer is refused in one line", async () => {
    const id = await detached({ steps: [{ input: { key: "n", schema: { type: "number" } } }, { sleep_ms: 1 }] });
    const actionId = await opened(id);
    expect((await at("respond", id, "--value", '"x"')).stderr).toMatch(/^harness: VALIDATION_ERROR: .*\n$/);
    const { code, stdout } = await at("respond", id, "--value", "42", "--json");
    expect({ code, id: fromJsonString(ActionRequestSchema, stdout).id }).toEqual({ code: 0, id: actionId });
    expect(await at("wait", id)).toMatchObject({ stdout: "42\n" });
    const second = await at("respond", id, actionId, "--value", "43");
    expect(second).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^harness: ACTION_ALREADY_RESOLVED: .*\n$/),
    });
    expect((await at("respond", id, "--approve")).stderr).toBe(
      `harness: ${id} is SUCCEEDED; nothing waits for an answer\n`,
    );
  });

  test("respond needs exactly one answer", async () => {
    expect(await at("respond", "exe_x", "--approve", "--deny")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("say only one of --approve, --deny"),
    });
    expect(await at("respond", "exe_x", "--approve", "--value", "1")).toMatchObject({ code: 2 });
  });

  test("respond says what an action takes, and how it answered it", async () => {
    const approval = { approval: { options: [{ id: "once" }], if_denied: "continue" } } as const;
    const id = await detached({ steps: [approval, { approval: {} }, { input: {} }, { sleep_ms: 600_000 }] });
    const first = await opened(id);
    expect((await at("respond", id, "--text", "foo")).stderr).toMatch(
      /asks for an approval: say --approve, --deny or --option ID, one of once\n$/,
    );
    expect((await at("respond", id, "--deny")).stdout).toBe(`${first} is denied\n`);
    const second = await opened(id, 2);
    expect((await at("respond", id, "--approve")).stdout).toBe(`${second} is approved\n`);
    const third = await opened(id, 3);
    expect((await at("respond", id, "--approve")).stderr).toMatch(/asks for an input: say --text TEXT or --value/);
    expect((await at("respond", id, "--text", "x")).stdout).toBe(`${third} is answered\n`);
    await at("cancel", id, "--wait");
    expect((await at("respond", id, "--approve")).stderr).toContain("is CANCELLED; nothing waits for an answer");
  });

  test("respond approves or denies with an option that does not say which it does", async () => {
    const id = await detached({ steps: [{ approval: { options: [{ id: "a" }, { id: "b" }] } }, { text: "went" }] });
    await opened(id);
    expect((await at("respond", id, "--option", "b")).stderr).toMatch(/set `approved` too/);
    const { stdout } = await at("respond", id, "--option", "b", "--approve", "--json");
    expect(fromJsonString(ActionRequestSchema, stdout)).toMatchObject({ approved: true, optionId: "b" });
    expect(await at("wait", id)).toMatchObject({ stdout: "went\n" });
  });

  test("actions lists what is open, and what was", async () => {
    const id = await detached({ steps: [{ approval: { title: "Listed?", if_denied: "continue" } }] });
    const actionId = await opened(id);
    const { stdout } = await at("actions", "--execution", id);
    expect(stdout).toMatch(/^EXECUTION +ACTION +KIND/);
    expect(stdout).toMatch(new RegExp(`^${id} +${actionId} +APPROVAL +PENDING .*Listed\\?$`, "m"));
    await at("respond", id, actionId, "--deny");
    expect((await at("actions", "--execution", id)).stdout).toBe("no actions\n");
    const answered = await at("actions", "--execution", id, "--state", "responded", "--json");
    expect(fromJsonString(ActionRequestSchema, answered.stdout)).toMatchObject({ id: actionId, approved: false });
  });

  test("cancel --wait returns when it is over; wait then ends with 3", async () => {
    const id = await detached({ steps: [{ sleep_ms: 60_000 }] });
    expect(await at("cancel", id, "--reason", "enough", "--wait")).toMatchObject({
      code: 0,
      stdout: `${id} is CANCELLED\n`,
    });
    expect(await at("wait", id)).toMatchObject({ code: 3, stderr: expect.stringMatching(/^CANCELLED enough/) });
  });

  test("wait gives up after its timeout", async () => {
    const id = await detached({ steps: [{ sleep_ms: 60_000 }] });
    const { code, stderr } = await at("wait", id, "--timeout", "50ms");
    expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringMatching(/ after 50ms\n$/) });
    await at("cancel", id);
  });

  test("wait ends with 4 where no runtime answers, and with 1 where there is no such execution", async () => {
    expect(await harness(["wait", "exe_1", "--url", "http://127.0.0.1:1"])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("no runtime answers"),
    });
    expect((await at("wait", "exe_1")).code).toBe(1);
  });
});

describe("reading", () => {
  test("get prints an execution for people and as JSON", async () => {
    const id = await detached({ steps: [{ text: "out" }], structured_output: { a: 1 } }, "--label", "for=get");
    await at("wait", id);
    const { stdout } = await at("get", id);
    expect(stdout).toMatch(/^state +SUCCEEDED$/m);
    expect(stdout).toMatch(/^labels +for=get$/m);
    expect(stdout).toMatch(/^structured +\{"a":1\}$/m);
    const execution = fromJsonString(ExecutionSchema, (await at("get", id, "--json")).stdout);
    expect(execution).toMatchObject({ id, state: ExecutionState.SUCCEEDED, finalOutput: "out" });
  });

  test("list filters, limits, and goes over pages", async () => {
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) ids.unshift(await detached({ steps: [] }, "--label", "for=list"));
    await Promise.all(ids.map((id) => at("wait", id)));
    const listed = async (...args: readonly string[]): Promise<readonly string[]> => {
      const { stdout } = await at("list", "--label", "for=list", "--json", ...args);
      const lines = stdout.split("\n").filter(Boolean);
      return lines.map((line) => fromJsonString(ExecutionSchema, line).id);
    };
    expect(await listed()).toEqual(ids);
    expect(await listed("--limit", "2")).toEqual(ids.slice(0, 2));
    expect(await listed("--state", "running,queued")).toEqual([]);
    expect(await listed("--provider", "other")).toEqual([]);
    const table = await at("list", "--label", "for=list", "--limit", "1");
    expect(table.stdout).toMatch(
      new RegExp(`^ID +STATE +PROVIDER +CREATED +TOOK +INPUT\n${ids[0]} +SUCCEEDED +scripted .* in\n$`),
    );
  });

  test("watch prints events after a number, of some types, one a line", async () => {
    const id = await detached({ steps: [{ text: "x" }] });
    await at("wait", id);
    const { stdout } = await at("watch", id, "--after", "1", "--types", "run.*");
    const types = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.trim().split(/\s+/)[2]);
    expect(types).toEqual(["run.starting", "run.started", "run.completed"]);
  });

  test("providers lists them, and shows one with what it can do", async () => {
    expect((await at("providers")).stdout).toMatch(/^scripted +\S+ +embedded +\d+ +yes$/m);
    expect((await at("providers", "scripted")).stdout).toMatch(/^input.steer +NATIVE$/m);
    const { stdout } = await at("providers", "scripted", "--json");
    expect(fromJsonString(ProviderSchema, stdout).manifest?.id).toBe("scripted");
  });
});

describe("an error is one line with its reason and the way out", () => {
  test.each([
    [["get", "exe_none"], 1, /^harness: NOT_FOUND: no execution .*; npx harness list lists executions\n$/],
    [
      ["run", "scripted", "x", "--conversation", "nope"],
      1,
      /^harness: NOT_FOUND: no conversation .*; leave --conversation out to begin a new one\n$/,
    ],
    [["run", "none", "x"], 1, /^harness: PROVIDER_NOT_FOUND: .*; npx harness providers lists them\n$/],
    [["run", "scripted", "x", "--config", '{"steps":[{"say":"x"}]}'], 1, /^harness: VALIDATION_ERROR: config.*\n$/],
    [
      ["run", "scripted", "x", "--require", "extension.mcp"],
      1,
      /^harness: CAPABILITY_UNSUPPORTED: .*extension\.mcp.*\n$/,
    ],
    [["get", ""], 1, /^harness: VALIDATION_ERROR: execution_id: must not be empty\n$/],
    [["list", "--limit", "0"], 2, /^harness: --limit: must be a whole number from 1, not "0"\n$/],
    [["send", "exe_none", "x", "--mode", "shout"], 2, /^harness: --mode: must be one of follow_up, steer, replace/],
    [["run", "scripted", "x", "--config", "{"], 2, /^harness: --config: .*; give JSON, or @FILE\n$/],
    [["list", "--state", "done"], 2, /^harness: --state: must be one of queued,/],
  ])("%j", async (args, code, stderr) => {
    expect(await at(...args)).toEqual({ code, stdout: "", stderr: expect.stringMatching(stderr) });
  });

  test("a URL without its scheme is told with the one that was meant", async () => {
    expect(await harness(["list", "--url", "127.0.0.1:4310"])).toEqual({
      code: 2,
      stdout: "",
      stderr: "harness: --url 127.0.0.1:4310: must be a URL of http: or https:; did you mean http://127.0.0.1:4310?\n",
    });
  });

  test("where another server than a runtime answers", async () => {
    const other = createServer((_, response) => response.end("hello"));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const { code, stderr } = await harness(["list", "--url", `http://127.0.0.1:${port}`]);
    other.close();
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^harness: what answers is no Harness Runtime, .* TLS .*: check --url\n$/),
    });
  });

  test("where no runtime answers", async () => {
    const { code, stderr } = await harness(["list", "--url", "http://127.0.0.1:9"]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        "harness: no runtime answers (connect ECONNREFUSED 127.0.0.1:9): start one with npm start, or name another with --url\n",
    });
  });

  test.each([
    [["run", "--hlp"], "unknown option '--hlp'; did you mean --help?", "run [options] <provider> <input>", "run"],
    [["serve", "--nope"], "unknown option '--nope'", "serve [options]", "serve"],
    [["token", "creat"], "unknown command 'creat'; did you mean create?", "token [options] [command]", "token"],
    [["fly"], "unknown command 'fly'", "[options] [command]", ""],
    [["get"], "missing required argument 'execution'", "get [options] <execution>", "get"],
    [["serve", "--port"], "option '--port <number>' argument missing", "serve [options]", "serve"],
  ])(
    "%j says what is wrong in one line, how to call it in another, and ends with 2",
    async (args, fault, usage, see) => {
      const hint = `usage: npx harness ${usage}; see: npx harness ${see}`;
      const stderr = `harness: ${fault}\n${hint.trimEnd()} --help\n`;
      expect(await harness(args)).toEqual({ code: 2, stdout: "", stderr });
    },
  );

  test("no command at all shows those that there are and ends with 2", async () => {
    const { code, stdout, stderr } = await harness([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("Usage: harness");
  });

  test("help is no error", async () => {
    expect(await harness(["run", "--help"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Usage: harness run"),
    });
  });
});
