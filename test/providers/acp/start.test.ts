import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ErrorReason, FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { type Clock, systemClock } from "../../../src/core/clock.js";
import { closeFixtures, openAgent } from "./fixture.js";

afterEach(closeFixtures);

describe("an agent that cannot be used says what to do", () => {
  test("a command that is not installed makes the provider unavailable", async () => {
    const { run, runtime } = await openAgent({ agent: "gemini", command: "no-such-agent" });
    await expect(run("x")).rejects.toMatchObject({
      reason: ErrorReason.PROVIDER_UNAVAILABLE,
      message: expect.stringContaining("install it with `npm install -g @google/gemini-cli`"),
    });
    expect(runtime.getProvider("test")).toMatchObject({ available: false });
    const path = await openAgent({ command: "/no/such/agent" });
    await expect(path.run("x")).rejects.toThrow(
      "there is no file /no/such/agent that may be executed; install it, or set",
    );
  });

  test.each([
    ["--version=2", FailureReason.PROVIDER_ERROR, /speaks version 2 .* this runtime speaks 1: install/],
    [
      "--refuse",
      FailureReason.PROVIDER_ERROR,
      /refused `initialize` \(.*no such version.*\): see whether `.*acp-agent.*`/,
    ],
    ["--login", FailureReason.PROVIDER_ERROR, /needs a login: log in .* or set auth_method to one of api-key/],
    [
      "--silent=initialize",
      FailureReason.PROVIDER_START_TIMEOUT,
      /did not answer `initialize` .* raise limits.initialize_ms/,
    ],
    [
      "--silent=session/new",
      FailureReason.PROVIDER_START_TIMEOUT,
      /did not answer `session\/new` .* raise limits.session_ms/,
    ],
    [
      "--exit=4",
      FailureReason.PROVIDER_ERROR,
      /ended with exit code 4 .* see whether `.*` runs by itself .* last words: cannot start: api_key=\[redacted\] is wrong/,
    ],
  ])("%s", async (flag, reason, message) => {
    const { run, alive } = await openAgent({
      ...{ flags: [flag], env: { TEST_API_KEY: "0123456789" } },
      limits: { initializeMs: flag === "--silent=initialize" ? 300 : 10_000, sessionMs: 500 },
    });
    const execution = await (await run("x")).end();
    expect(execution).toMatchObject({
      state: ExecutionState.FAILED,
      error: { reason, message: expect.stringMatching(message) },
    });
    expect(await alive()).toEqual([]);
  });

  test.each(["auto", "marked"] as const)("a program that the system cannot run, held %s", async (containment) => {
    const folder = await mkdtemp(join(tmpdir(), "acp-broken-"));
    const command = join(folder, "broken");
    await writeFile(command, "#!/no/such/interpreter\n", { mode: 0o755 });
    const { run } = await openAgent({ containment, command });
    const { error } = await (await run("x")).end();
    await rm(folder, { recursive: true });
    expect(error).toMatchObject({
      reason: FailureReason.PROVIDER_ERROR,
      message: expect.stringMatching(
        /^test (cannot be started: .*|ended with exit code 12[67] .*): see whether `.*broken/,
      ),
    });
  });

  test("one that is asked what it can do and does not start is unavailable, until it starts", async () => {
    const folder = await mkdtemp(join(tmpdir(), "acp-broken-"));
    const command = join(folder, "agent");
    await writeFile(command, "#!/bin/sh\necho no licence >&2; exit 3\n", { mode: 0o755 });
    let askAgain = (): void => {};
    const after: Clock["after"] = (delayMs, act) => {
      if (delayMs !== 5_000) return systemClock.after(delayMs, act);
      askAgain = act;
      return () => {};
    };
    const clock = { now: systemClock.now, after };
    const { run, runtime } = await openAgent({ command, clock, unset: ["loadSession"] });
    expect(runtime.getProvider("test")).toMatchObject({
      available: false,
      unavailableReason: expect.stringMatching(/^test ended with exit code 3 .*no licence/),
    });
    await writeFile(command, `#!/bin/sh\nexec ${process.execPath} "$@"\n`);
    askAgain();
    await vi.waitFor(() => expect(runtime.getProvider("test").available).toBe(true), 20_000);
    expect((await (await run("x")).end()).state).toBe(ExecutionState.SUCCEEDED);
    await rm(folder, { recursive: true });
  });

  test("a login that the agent does not take", async () => {
    const { run } = await openAgent({ flags: ["--login=other"], authMethod: "api-key" });
    const { error } = await (await run("x")).end();
    expect(error?.message).toMatch(
      /needs a login, and did not take api-key \(.*\): see whether its credential is right/,
    );
  });

  test("a mode that the agent does not have names those that it has", async () => {
    const { run } = await openAgent({ mode: "yolo" });
    expect((await (await run("x")).end()).error?.message).toMatch(/\(.*no such mode.*\): it offers ask, code$/);
  });

  test("a folder that is not there makes the provider unavailable, until it is there", async () => {
    const parent = await mkdtemp(join(tmpdir(), "acp-folder-"));
    const cwd = join(parent, "project");
    const { run, runtime, logged } = await openAgent({ cwd, unset: ["loadSession"] });
    const reason = `the folder ${cwd} (cwd) does not exist; create it, or set cwd to one that does`;
    await expect(run("x")).rejects.toMatchObject({
      reason: ErrorReason.PROVIDER_UNAVAILABLE,
      message: expect.stringContaining(reason),
    });
    expect(runtime.getProvider("test")).toMatchObject({ available: false, unavailableReason: reason });
    expect(logged.join()).not.toContain("could not be asked");
    await mkdir(cwd);
    expect((await (await run("x")).end()).state).toBe(ExecutionState.SUCCEEDED);
    await rm(parent, { recursive: true });
  });
});

describe("what an execution sets", () => {
  test("a login that is configured is made when the agent asks for one", async () => {
    const { run } = await openAgent({ flags: ["--login"], authMethod: "api-key" });
    expect((await (await run("x")).end()).state).toBe(ExecutionState.SUCCEEDED);
  });

  test("a credential that is set is the login of an agent that is known to take it", async () => {
    const { run } = await openAgent({
      agent: "codex",
      flags: ["--login=openai-api-key"],
      env: { OPENAI_API_KEY: "x" },
    });
    expect((await (await run("x")).end()).state).toBe(ExecutionState.SUCCEEDED);
    const without = await openAgent({ agent: "codex", flags: ["--login=openai-api-key"], env: { OPENAI_API_KEY: "" } });
    const { error } = await (await without.run("x")).end();
    expect(error?.message).toContain("Codex needs a login: set OPENAI_API_KEY where the runtime runs");
  });

  test("the mode of its config goes before that of the settings", async () => {
    const { run } = await openAgent({ mode: "ask" });
    const live = await run([{ recall: true }], { config: { mode: "code" } });
    await live.end();
    expect(JSON.parse(live.text()).mode).toBe("code");
  });

  test("its folder is one inside the roots, and any other is refused before it starts", async () => {
    const { run, workspace } = await openAgent();
    const inside = join(workspace, "inside");
    await mkdir(inside);
    const live = await run([{ recall: true }], { config: { cwd: inside } });
    await live.end();
    expect(JSON.parse(live.text()).cwd).toBe(inside);
    for (const cwd of ["/etc", "inside", join(workspace, "missing"), join(inside, "..", "..")]) {
      await expect(run("x", { config: { cwd } })).rejects.toMatchObject({ reason: ErrorReason.VALIDATION_ERROR });
    }
  });

  test("without a folder each conversation has one of its own, for all of its executions", async () => {
    const { run, root } = await openAgent({ unset: ["cwd"] });
    const first = await run([{ recall: true }]);
    await first.end();
    const second = await run([{ recall: true }], { conversationId: first.conversationId });
    await second.end();
    expect(JSON.parse(first.text()).cwd).toBe(
      join(root, "data", "providers", "test", "workspaces", first.conversationId),
    );
    expect(JSON.parse(second.text()).cwd).toBe(JSON.parse(first.text()).cwd);
  });

  test("an agent's environment is a few variables and what is allowed", async () => {
    process.env["SOME_SECRET_OF_OURS"] = "x";
    process.env["ALLOWED_ONE"] = "y";
    const { run } = await openAgent({ inheritEnv: ["ALLOWED_ONE"], env: { GIVEN: "z" } });
    const live = await run([{ recall: true }]);
    await live.end();
    const { env } = JSON.parse(live.text());
    expect(env).toEqual(expect.arrayContaining(["PATH", "ALLOWED_ONE", "GIVEN", "TERM"]));
    expect(env).not.toContain("SOME_SECRET_OF_OURS");
  });
});

describe("the manifest", () => {
  test("says of an agent that is not known what it said of itself", async () => {
    const levels = async (flags: string[]) => {
      const { runtime } = await openAgent({ flags, unset: ["loadSession"] });
      return runtime.getProvider("test").manifest?.capabilities;
    };
    expect(await levels([])).toMatchObject({
      "execution.resume": SupportLevel.DEGRADED,
      "conversation.continuity": SupportLevel.NATIVE,
    });
    expect(await levels(["--no-load"])).toMatchObject({
      "execution.resume": SupportLevel.UNSUPPORTED,
      "conversation.continuity": SupportLevel.EMULATED,
      "input.steer": SupportLevel.UNSUPPORTED,
    });
  });

  test("says how processes are held", async () => {
    const { runtime } = await openAgent({ containment: "marked" });
    expect(runtime.getProvider("test").manifest?.metadata).toMatchObject({ containment: "MARKED" });
  });
});
