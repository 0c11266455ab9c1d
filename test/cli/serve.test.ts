import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { build, type Ended, harness, ROOT, serve, start, startCommand } from "./support/processes.js";

/** Each test starts processes, which a busy machine takes its time for. */
vi.setConfig({ testTimeout: 180_000 });

let folder: string;

beforeAll(() => {
  build();
  folder = mkdtempSync(join(tmpdir(), "harness-serve-"));
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs `harness serve` where it cannot start. */
function failing(...args: readonly string[]): Promise<Ended> {
  return harness(["serve", "--port", "0", "--data", join(folder, "failing"), ...args], { cwd: folder });
}

describe("serve", () => {
  test("prints commands that work as they are pasted", async () => {
    const served = await serve();
    await served.running.saw(/grpcurl .*StartExecution\n/);
    const { stdout } = await served.stop();
    expect(stdout).toMatch(/^harness \S+ serves http:\/\/127\.0\.0\.1:\d+ \(sqlite in .*; providers: scripted/);
    expect(stdout).toMatch(/^ {2}npx harness run scripted "hello" --url http/m);
    expect(stdout).toMatch(/^ {2}curl -H "content-type: application\/json" -d '.*' http/m);
    expect(stdout).toMatch(/^ {2}grpcurl -plaintext -d '.*' 127\.0\.0\.1:\d+ harnessruntime\.v1\.ExecutionService/m);
  });

  test("the printed harness and curl commands run", async () => {
    const served = await serve();
    const [, run = ""] = await served.running.saw(/^ {2}npx harness (.*)$/m);
    const [, curl = ""] = await served.running.saw(/^ {2}(curl .*)$/m);
    const program = `${process.execPath} ${join(ROOT, "bin/harness.mjs")}`;
    expect((await startCommand("bash", ["-c", `${program} ${run}`]).ended).stdout).toBe("hello\n");
    const { stdout } = await startCommand("bash", ["-c", `${curl} -s`]).ended;
    expect(JSON.parse(stdout)).toMatchObject({ execution: { providerId: "scripted", input: { text: "hello" } } });
    await served.stop();
  });

  const hasGrpcurl = spawnSync("grpcurl", ["-version"]).status === 0;
  test.skipIf(!hasGrpcurl)("the printed grpcurl command runs (skipped where grpcurl is not installed)", async () => {
    const served = await serve();
    const [, grpcurl = ""] = await served.running.saw(/^ {2}(grpcurl .*)$/m);
    expect(JSON.parse((await startCommand("bash", ["-c", grpcurl]).ended).stdout)).toHaveProperty("execution.id");
    await served.stop();
  });

  test("agents with a preset are providers, unavailable with the reason where their command is not installed", async () => {
    const path = { PATH: "/nowhere" };
    const served = await serve([], undefined, path);
    const { stdout } = await harness(["providers", "--url", served.url]);
    for (const id of ["gemini", "codex", "opencode"])
      expect(stdout).toMatch(new RegExp(`^${id} .* no: .*install`, "m"));
    await served.stop();
    const without = await serve(["--set", "providers.acp_presets=false"]);
    expect((await harness(["providers", "--url", without.url])).stdout).not.toContain("gemini");
    await without.stop();
  });

  test.each(["SIGTERM", "SIGINT"] as const)("drains at %s and ends with 0", async (signal) => {
    const served = await serve();
    served.running.child.kill(signal);
    expect(await served.running.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('"drained"') });
    await served.stop();
  });

  test("takes a signal that arrives twice as one, and ends at once at another a second later", async () => {
    const served = await serve(["--set", "server.drain_grace=60s"]);
    const script = JSON.stringify({ steps: [{ text: "ready" }, { sleep_ms: 60_000 }] });
    const running = start(["run", "scripted", "in", "--config", script, "--url", served.url]);
    await running.saw(/ready/);
    served.running.child.kill("SIGTERM");
    served.running.child.kill("SIGTERM");
    await served.running.saw(/draining/);
    await new Promise((done) => setTimeout(done, 1_100));
    served.running.child.kill("SIGTERM");
    const { code, stderr } = await served.running.ended;
    expect({ code, drained: stderr.includes('"drained"') }).toEqual({ code: 1, drained: false });
    running.child.kill("SIGKILL");
    await running.ended;
    await served.stop();
  });

  test("keeps executions and open approvals over kill -9, in a folder that only its owner can read", async () => {
    const data = join(folder, "kept");
    const first = await serve([], data);
    const script = JSON.stringify({ steps: [{ approval: { title: "Go on?" } }, { text: "went on" }] });
    const { stdout } = await harness(["run", "scripted", "in", "--detach", "--config", script, "--url", first.url]);
    const id = stdout.trim();
    const watching = start(["watch", id, "--types", "action.required", "--url", first.url]);
    await watching.saw(/Go on\?/);
    first.running.child.kill("SIGKILL");
    await first.running.ended;
    expect(statSync(data).mode & 0o777).toBe(0o700);
    watching.child.kill();
    await watching.ended;

    const second = await serve([], data);
    expect((await harness(["respond", id, "--approve", "--url", second.url])).code).toBe(0);
    expect(await harness(["wait", id, "--url", second.url])).toMatchObject({ code: 0, stdout: "went on\n" });
    await second.stop();
  });

  test.each(["SIGKILL", "SIGTERM"] as const)("wait goes on over a restart after %s", async (signal) => {
    const data = join(folder, `awaited-${signal}`);
    const first = await serve([], data);
    const script = JSON.stringify({ steps: [{ approval: { title: "Go on?" } }, { text: "went on" }] });
    const { stdout } = await harness(["run", "scripted", "in", "--detach", "--config", script, "--url", first.url]);
    const id = stdout.trim();
    const waiting = start(["wait", id, "--url", first.url]);
    // Longer than a client's patience, which must not count before anything fails.
    await delay(11_000);
    first.running.child.kill(signal);
    await first.running.ended;

    const second = await serve(["--port", new URL(first.url).port], data);
    expect((await harness(["respond", id, "--approve", "--url", second.url])).code).toBe(0);
    expect(await waiting.ended).toMatchObject({ code: 0, stdout: "went on\n" });
    await second.stop();
  });

  test("leaves what still runs after the grace to the next start", async () => {
    const data = join(folder, "handed-over");
    const first = await serve([], data);
    const script = JSON.stringify({ steps: [{ text: "one " }, { await_steer: true }] });
    const { stdout } = await harness(["run", "scripted", "in", "--detach", "--config", script, "--url", first.url]);
    const id = stdout.trim();
    const watching = start(["watch", id, "--url", first.url]);
    await watching.saw(/output\.text\.delta/);
    expect((await first.stop()).code).toBe(0);
    watching.child.kill();
    await watching.ended;

    const second = await serve([], data);
    expect((await harness(["send", id, "two", "--mode", "steer", "--url", second.url])).code).toBe(0);
    expect(await harness(["wait", id, "--url", second.url])).toMatchObject({ code: 0, stdout: "one two\n" });
    expect((await harness(["get", id, "--url", second.url])).stdout).toMatch(/^attempt, turn +2, 1$/m);
    await second.stop();
  });

  test("with the memory store it keeps nothing, and says so", async () => {
    const served = await serve(["--store", "memory"]);
    expect((await served.stop()).stdout).toContain("(kept in memory only;");
  });

  test("a stream that is cut by a drain is said to be opened again", async () => {
    const data = join(folder, "drained");
    const first = await serve([], data);
    const script = JSON.stringify({ steps: [{ text: "first " }, { sleep_ms: 300 }, { text: "second" }] });
    const running = start(["run", "scripted", "in", "--config", script, "--url", first.url]);
    await running.saw(/first/);
    await first.stop();
    const port = new URL(first.url).port;
    const second = await serve(["--port", port], data);
    expect(await running.ended).toMatchObject({ code: 0, stdout: "first second\n" });
    expect((await running.ended).stderr).toContain("reconnecting");
    await second.stop();
  });
});

describe("what keeps it from starting is one line, and ends with 1", () => {
  test("a port in use", async () => {
    const other = createServer();
    await new Promise<void>((done) => other.listen(0, "127.0.0.1", done));
    const { port } = other.address() as { port: number };
    const { code, stderr } = await failing("--port", String(port));
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `harness: port ${port} is in use; name another with --port, or 0 for a free one\n`,
    });
    other.close();
  });

  test("a data folder that another process uses", async () => {
    const served = await serve();
    const { code, stderr } = await failing("--data", served.data);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^harness: .*harness\.db.*\n$/);
    await served.stop();
  });

  test.each(["/proc/none", "/dev/null/data"])("the data folder %s, which cannot be made", async (data) => {
    const { code, stderr } = await failing("--data", data);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^harness: data: .* cannot be made .*; name another folder with --data\n$/);
  });

  test("a configuration with a mistake", async () => {
    const file = join(folder, "bad.yaml");
    writeFileSync(file, "server:\n  prot: 1\n");
    expect(await failing("--config", file)).toEqual({
      code: 1,
      stdout: "",
      stderr: `harness: ${file}:2: server.prot: is not known; did you mean port?\n`,
    });
  });

  test("two providers with one id", async () => {
    const file = join(folder, "twice.yaml");
    writeFileSync(file, "providers:\n  acp:\n    scripted: { command: x }\n");
    expect(await failing("--config", file)).toMatchObject({
      code: 1,
      stderr: `harness: ${file}:3: providers.acp.scripted: another provider has this id; choose another\n`,
    });
  });

  test("a mistake in the settings of a provider", async () => {
    const file = join(folder, "provider.yaml");
    writeFileSync(file, "providers:\n  acp:\n    mine: { comand: x }\n");
    expect(await failing("--config", file)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/provider\.yaml:3: providers\.acp\.mine: .*comand.*\n$/),
    });
  });

  test.each([
    [["--host", "0.0.0.0"], /^harness: .*0\.0\.0\.0 can be reached from other machines.*\n$/],
    [["--config", "/nowhere.yaml"], /^harness: \/nowhere\.yaml: there is no such file; .*\n$/],
    [["--port", "70000"], /^harness: --port: server\.port: .*\n$/],
    [["--data", "/dev/null/data"], /^harness: data: \/dev\/null\/data cannot be made .*\n$/],
    [
      ["--set", "server.tls.cert_file=/no.pem", "--set", "server.tls.key_file=/no.pem"],
      /^harness: server\.tls\.cert_file: .*\n$/,
    ],
    [["--set", "server.prt=1"], /^harness: --set: server\.prt is no key.*did you mean server\.port\?\n$/],
  ])("%j", async (args, stderr) => {
    expect(await failing(...args)).toEqual({ code: 1, stdout: "", stderr: expect.stringMatching(stderr) });
  });
});

describe("config", () => {
  test("prints what is in force and where it was set", async () => {
    const file = join(folder, "good.yaml");
    writeFileSync(file, "server:\n  port: 5000\nlog: { level: warn }\n");
    const env = { HARNESS_SERVER_HOST: "localhost" };
    const { stdout } = await harness(["config", "--config", file, "--data", "/d"], { env });
    expect(stdout).toMatch(/^KEY +VALUE +SET BY$/m);
    expect(stdout).toMatch(/^data +\/d +--data$/m);
    expect(stdout).toMatch(/^server\.host +localhost +HARNESS_SERVER_HOST$/m);
    expect(stdout).toMatch(new RegExp(`^server\\.port +5000 +${file}:2$`, "m"));
    expect(stdout).toMatch(/^store\.kind +sqlite +default$/m);
    const json = await harness(["config", "--config", file, "--json"]);
    const lines = json.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toContainEqual({ key: "log.level", value: "warn", where: `${file}:3` });
  });
});

describe("token", () => {
  test("a token opens what is closed without one, until it is revoked", async () => {
    const served = await serve(["--auth", "tokens"]);
    await served.running.saw(new RegExp(`token create --user me --data ${served.data}\\)\n`));
    const token = (...args: readonly string[]) => harness(["token", ...args, "--data", served.data]);
    const list = (env: Readonly<Record<string, string>> = {}) => harness(["list", "--url", served.url], { env });
    expect(await list()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^harness: UNAUTHENTICATED: .*--token.*\n$/),
    });

    const { stdout } = await token("create", "--user", "ada", "--scope", "read", "--note", "a test", "--json");
    const { id, secret } = JSON.parse(stdout) as { id: string; secret: string };
    const allowed = await list({ HARNESS_TOKEN: secret });
    expect(allowed).toMatchObject({ code: 0, stdout: "no executions\n" });
    const run = await harness(["run", "scripted", "x", "--url", served.url, "--token", secret]);
    expect(run).toMatchObject({ code: 1, stderr: expect.stringMatching(/^harness: PERMISSION_DENIED: /) });

    const listed = await token("list");
    expect(listed.stdout).toMatch(new RegExp(`^${id} +local +ada +read +\\d{4}-\\d\\d-\\d\\d +never +a test$`, "m"));
    expect(listed.stdout).not.toContain(secret);
    expect(await token("revoke", id)).toMatchObject({ code: 0, stdout: `${id} is revoked\n` });
    expect((await token("list")).stdout).toBe("no tokens\n");
    await served.stop();
  });

  test("what is wrong is said in one line", async () => {
    const data = ["--data", join(folder, "tokens")];
    expect(await harness(["token", "revoke", "none", ...data])).toMatchObject({
      code: 1,
      stderr: 'harness: no token has the ID "none"\n',
    });
    const bad = await harness(["token", "create", "--user", "a", "--scope", "root", ...data]);
    expect(bad).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^harness: scopes: "root" is not one of read, .*\n$/),
    });
    expect(await harness(["token", "create", ...data])).toMatchObject({ code: 2 });
  });

  test("a damaged file is named, with the way out, and no server starts with it", async () => {
    const data = mkdtempSync(join(folder, "damaged-"));
    writeFileSync(join(data, "tokens.json"), '{"version":1,');
    const stderr = expect.stringContaining(`harness: the token file ${data}/tokens.json is damaged: restore it`);
    expect(await harness(["token", "list", "--data", data])).toMatchObject({ code: 1, stderr });
    expect(await harness(["serve", "--port", "0", "--auth", "tokens", "--data", data])).toMatchObject({
      code: 1,
      stdout: "",
      stderr,
    });
  });
});
