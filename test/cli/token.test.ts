import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "../support/processes.js";
import { openFolder } from "./support/folder.js";
import { harness, serve, start } from "./support/processes.js";

const folder = openFolder("token");

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

  test("a run whose token is revoked says that Ctrl-C did not cancel it", async () => {
    const served = await serve(["--auth", "tokens"]);
    const token = (...args: readonly string[]) => harness(["token", ...args, "--data", served.data]);
    const { stdout } = await token("create", "--user", "ada", "--json");
    const { id, secret } = JSON.parse(stdout) as { id: string; secret: string };
    const script = JSON.stringify({ steps: [{ text: "ready" }, { sleep_ms: 60_000 }] });
    const args = ["run", "scripted", "in", "--config", script, "--url", served.url, "--token", secret];
    const running = start(args);
    await running.saw(/ready/);
    await token("revoke", id);
    // The server looks at its tokens now and then.
    const refused = async () => (await harness(["list", "--url", served.url, "--token", secret])).code === 1;
    await until("the token opens nothing", refused);
    running.child.kill("SIGINT");
    await running.saw(/it was not cancelled: UNAUTHENTICATED: .*--token/);
    running.child.kill("SIGINT");
    expect((await running.ended).stderr).toMatch(/follow it with: npx harness watch exe_/);
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
    expect(await harness(["token", "create", "--user", "a", "--expires", "99999999999h", ...data])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^harness: lifetime: must be positive and at most 876600h .*\n$/),
    });
  });

  test("a token that ends beyond every calendar is listed as one that never ends", async () => {
    const data = mkdtempSync(join(folder, "beyond-"));
    const token = { id: "a", tenantId: "t", userId: "u", scopes: ["read"], note: "", hash: "0".repeat(64) };
    const tokens = [{ ...token, createTimeMs: 0, expireTimeMs: 360_000_000_000_000_000 }];
    writeFileSync(join(data, "tokens.json"), JSON.stringify({ version: 1, tokens }));
    const { code, stdout } = await harness(["token", "list", "--data", data]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^a +t +u +read +1970-01-01 +never$/m);
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
