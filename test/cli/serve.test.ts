import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { build, harness, ROOT, serve, start, startCommand } from "./support/processes.js";

/** Each test starts processes, which a busy machine takes its time for. */
vi.setConfig({ testTimeout: 180_000 });

beforeAll(() => build(), 120_000);

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
    const { stderr } = await harness(["run", "gemini", "x", "--url", served.url]);
    expect(stderr).toMatch(/^harness: PROVIDER_UNAVAILABLE: .*install.*\n$/);
    expect(stderr).not.toContain("says why");
    await served.stop();
    const without = await serve(["--set", "providers.acp_presets=false"]);
    expect((await harness(["providers", "--url", without.url])).stdout).not.toContain("gemini");
    await without.stop();
  });

  test("on a folder that another one holds names the options that take others", async () => {
    const data = mkdtempSync(join(tmpdir(), "harness-held-"));
    const served = await serve([], data);
    const { code, stderr } = await harness(["serve", "--port", "0", "--data", data]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^harness: .* is in use by another process\. .*--data.*--port\n$/);
    await served.stop();
    rmSync(data, { recursive: true });
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

  test("a damaged file of the providers that dialled in is named, with the way out", async () => {
    const data = mkdtempSync(join(tmpdir(), "harness-damaged-"));
    onTestFinished(() => rmSync(data, { recursive: true }));
    writeFileSync(join(data, "remote-providers.json"), "");
    const stderr = `harness: the file of providers that dialled in, ${data}/remote-providers.json, is damaged: restore it`;
    expect(await harness(["serve", "--port", "0", "--data", data])).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining(stderr),
    });
  });

  test("with the memory store it keeps nothing, and says so", async () => {
    const served = await serve(["--store", "memory"]);
    expect((await served.stop()).stdout).toContain("(kept in memory only;");
  });
});
