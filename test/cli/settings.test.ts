import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openFolder } from "./support/folder.js";
import { type Ended, harness, serve } from "./support/processes.js";

const folder = openFolder("settings");

/** Runs `harness serve` where it cannot start. */
function failing(...args: readonly string[]): Promise<Ended> {
  return harness(["serve", "--port", "0", "--data", join(folder, "failing"), ...args], { cwd: folder });
}

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
    [
      ["--host", "0.0.0.0"],
      /^harness: .*0\.0\.0\.0 can be reached from other machines.*--auth tokens.*--allow-insecure.*\n$/,
    ],
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
