import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openFolder } from "./support/folder.js";
import { harness, serve } from "./support/processes.js";

const folder = openFolder("conformance");

describe("conformance", () => {
  test("prints every check, measures each capability, and a server with the same folder shows it", async () => {
    const { code, stdout } = await harness(["conformance", "scripted", "--data", folder], { cwd: folder });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^✓ C01 a running execution is cancelled, and nothing of it is left running \d+ ms$/m);
    expect(stdout).toMatch(/^– .*killed.*\n {2}its processes cannot be killed from here$/m);
    expect(stdout).toMatch(/^input\.steer +NATIVE +NATIVE$/m);
    expect(stdout).toMatch(/\n(\d+) passed, 0 failed, \d+ skipped\n$/);
    const served = await serve([], folder);
    const { stdout: shown } = await harness(["providers", "scripted", "--url", served.url]);
    expect(shown).toMatch(/^conformance +\d+ passed, 0 failed/m);
    expect(shown).toMatch(/^input\.steer +NATIVE +measured NATIVE$/m);
    await served.stop();
  });

  test("a provider that does not do what it declares fails, and is measured so", async () => {
    const situations = join(folder, "situations.yaml");
    writeFileSync(
      situations,
      "artifact: {input: nothing}\nsteer: {input: go, config: {steps: [{text: a}, {await_steer: true}, {fail: no}]}}\n",
    );
    const args = ["conformance", "scripted", "--data", folder, "--situations", situations];
    const { code, stdout } = await harness(args, { cwd: folder });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^✗ F01 .*\n {2}it announced none$/m);
    expect(stdout).toMatch(/^✗ N01 a steer .*\n {2}it ended FAILED, not SUCCEEDED: no$/m);
    expect(stdout).toMatch(/^artifact\.list +NATIVE +UNSUPPORTED$/m);
    const stored = JSON.parse(readFileSync(join(folder, "conformance", "scripted.json"), "utf8"));
    expect(stored).toMatchObject({ failed: 2, measuredLevels: { "input.steer": "SUPPORT_LEVEL_UNSUPPORTED" } });
  });

  test("a provider that is not available is not measured, and keeps what was measured of it", async () => {
    const config = join(folder, "missing.yaml");
    writeFileSync(config, "providers: {acp: {missing: {command: /no/such/agent}}}\n");
    mkdirSync(join(folder, "conformance"), { recursive: true });
    const kept = join(folder, "conformance", "missing.json");
    writeFileSync(kept, "earlier");
    const args = ["conformance", "missing", "--data", folder, "--config", config];
    const { code, stdout, stderr } = await harness(args, { cwd: folder });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^harness: PROVIDER_UNAVAILABLE: .*\/no\/such\/agent.*; nothing was measured\n$/);
    expect(readFileSync(kept, "utf8")).toBe("earlier");
  });

  test("a provider that there is not, and situations that are none, are refused", async () => {
    const unknown = await harness(["conformance", "nope", "--data", folder], { cwd: folder });
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringContaining("has no provider nope; it has scripted, gemini"),
    ]);
    const situations = join(folder, "wrong.yaml");
    writeFileSync(situations, "text: {prompt: hello}\n");
    const args = ["conformance", "scripted", "--data", folder, "--situations", situations];
    const wrong = await harness(args, { cwd: folder });
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr).toContain("situations.text");
  });
});
