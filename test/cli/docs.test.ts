import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { readConfig } from "../../src/cli/config/read-config.js";
import { build, ROOT, type Served, serve, startCommand } from "./support/processes.js";

/** Each test starts processes, which a busy machine takes its time for. */
vi.setConfig({ testTimeout: 180_000 });

let served: Served;
/** In the package, so that its own name means it. */
let folder: string;

beforeAll(async () => {
  build();
  folder = mkdtempSync(join(ROOT, "dist.docs-"));
  served = await serve(["--set", "providers.acp_presets=false"]);
}, 120_000);

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await served.stop();
});

interface Block {
  /** What follows the fence, such as `sh run`. */
  readonly info: string;
  readonly code: string;
}

function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(join(ROOT, page), "utf8").replaceAll("127.0.0.1:4310", new URL(served.url).host);
  return [...text.matchAll(/^```(.+)\n([\s\S]*?)^```$/gm)].map(([, info = "", code = ""]) => ({ info, code }));
}

async function bash(script: string): Promise<string> {
  const program = `${process.execPath} ${join(ROOT, "bin/harness.mjs")}`;
  const env = { HARNESS_URL: served.url };
  const { code, stdout, stderr } = await startCommand("bash", ["-ec", script.replaceAll("npx harness", program)], {
    env,
  }).ended;
  expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
  return stdout;
}

test("the program of the README runs as it stands", async () => {
  const [example] = blocksOf("README.md").filter(({ info }) => info === "ts");
  const lines = example?.code.trimEnd().split("\n") ?? [];
  expect(lines.length).toBeLessThanOrEqual(20);
  const file = join(folder, "readme.mjs");
  writeFileSync(file, lines.join("\n"));
  const { code, stdout, stderr } = await startCommand(process.execPath, [file]).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^Deploying … done\.\nexe_\w+ ended with "Deploying … done\."\n$/);
});

test("the program of the README runs in a folder of one's own, made as the pages say", async () => {
  const pages = ["README.md", "docs/guides/clients.md", "docs/guides/embed.md"];
  const says = pages.map((page) => /^In a folder of your own: `([^`]+)`/m.exec(readFileSync(join(ROOT, page), "utf8")));
  const [command = "", ...others] = says.map((said) => said?.[1]);
  expect(others).toEqual([command, command]);
  const [example] = blocksOf("README.md").filter(({ info }) => info === "ts");
  const own = mkdtempSync(join(tmpdir(), "harness-own-"));
  onTestFinished(() => rmSync(own, { recursive: true }));
  const env = { npm_config_offline: "true", npm_config_audit: "false", npm_config_update_notifier: "false" };
  const made = await startCommand("bash", ["-ec", command.replace("CLONE", ROOT)], { cwd: own, env }).ended;
  expect(made).toMatchObject({ code: 0, stderr: "" });
  writeFileSync(join(own, "main.ts"), example?.code ?? "");
  const { code, stdout } = await startCommand(process.execPath, ["main.ts"], { cwd: own }).ended;
  expect(code).toBe(0);
  expect(stdout).toContain('ended with "Deploying … done."');
});

test("the program that serves a driver, in the guide to embedding, runs as it stands", async () => {
  const block = blocksOf("docs/guides/embed.md").find(({ code }) => code.includes("startServer"));
  const driver = `const driver = {
    id: "summariser",
    version: 1,
    capabilities: { controls: [], durable: false, policyCoverage: "local", controlledExecution: true },
    start: async ({ input }) => ({ text: "served: " + input }),
  };`;
  const use = `const client = createHarnessClient({ baseUrl: server.url });
  const { finalOutput } = await runToEnd(client, { providerId: "summariser", input: { text: "hello" } });
  console.log(finalOutput);
  await server.drain();
  await runtime.close(1000);
  await server.close();
  await store.close();
  process.exit();`;
  const client = `import { createHarnessClient, runToEnd } from "harness-runtime/client";`;
  const code = (block?.code ?? "")
    .replace(/port: \d+/, "port: 0")
    .replace('"harness.db"', JSON.stringify(join(folder, "harness.db")));
  const file = join(folder, "embed.mjs");
  writeFileSync(file, [client, driver, code, use].join("\n"));
  const ended = await startCommand(process.execPath, [file]).ended;
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(ended.stdout).toMatch(/^serves http:\/\/127\.0\.0\.1:\d+\nserved: hello\n$/);
});

test("the driver of the guide to embedding runs as it stands", async () => {
  const block = blocksOf("docs/guides/embed.md").find(({ code }) => code.includes("const driver: ExecutionDriver"));
  const model = `const anyModelOfTheAiSdk = {
    specificationVersion: "v3",
    provider: "fake",
    modelId: "fake",
    supportedUrls: {},
    doGenerate: async () => ({
      content: [{ type: "text", text: "In short: hello." }],
      finishReason: { unified: "stop" },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
      warnings: [],
    }),
  };`;
  const use = `import { HarnessRuntime } from "harness-runtime";
  const runtime = new HarnessRuntime({ driver, grants: { toolIds: [], modelRoles: ["main"] } });
  const options = { identity: { tenantId: "acme", userId: "ada" }, sessionId: "desk" };
  const { status, text } = await runtime.run("Hello, hello.", options);
  console.log(status, text);
  await runtime.close();`;
  const file = join(folder, "driver.ts");
  writeFileSync(file, [model, block?.code, use].join("\n"));
  const ended = await startCommand(process.execPath, ["--no-warnings", file]).ended;
  expect(ended).toMatchObject({ code: 0, stdout: "completed In short: hello.\n" });
});

test("the README is short", () => {
  expect(readFileSync(join(ROOT, "README.md"), "utf8").split("\n").length).toBeLessThan(150);
});

test("every link between the pages leads somewhere", () => {
  const pages = [
    "README.md",
    "CONTRIBUTING.md",
    ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md") && !name.startsWith("reference"))
      .map((name) => join("docs", name)),
  ];
  const links = pages.flatMap((page) => {
    const text = readFileSync(join(ROOT, page), "utf8");
    return [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, target = ""]) => ({ page, target }));
  });
  const broken = links.filter(({ page, target }) => !existsSync(join(ROOT, dirname(page), target)));
  expect(broken).toEqual([]);
  expect(links.length).toBeGreaterThan(20);
});

test("every command of the quickstart runs, in order, and prints what the page says", async () => {
  const hasGrpcurl = spawnSync("grpcurl", ["-version"]).status === 0;
  const blocks = blocksOf("docs/guides/quickstart.md");
  const runs = ({ info }: Block): boolean => info === "sh run" || (info === "sh grpcurl" && hasGrpcurl);
  const script = blocks.map((block, index) => (runs(block) ? `${block.code}echo "=== ${index}"\n` : "")).join("");
  const printed = new Map<number, string>();
  let rest = await bash(script);
  for (const [index, block] of blocks.entries()) {
    if (!runs(block)) continue;
    const mark = `=== ${index}\n`;
    printed.set(index, rest.slice(0, rest.indexOf(mark)));
    rest = rest.slice(rest.indexOf(mark) + mark.length);
  }
  for (const [index, output] of printed) {
    const expected = blocks[index + 1];
    expect(expected?.info).toBe("output");
    expect(output).toContain(expected?.code.trimEnd());
  }
  expect(printed.size).toBeGreaterThanOrEqual(6);
}, 180_000);

test("the configuration file in the page on operations has every key with its default", () => {
  const [yaml] = blocksOf("docs/operations.md").filter(({ code }) => code.startsWith("# harness.yaml"));
  const file = join(folder, "harness.yaml");
  writeFileSync(file, (yaml?.code ?? "").replace(`port: ${new URL(served.url).port}`, "port: 4310"));
  const empty = join(folder, "empty.yaml");
  writeFileSync(empty, "");
  const written = readConfig({ file, env: {}, flags: [] }).settings;
  const defaults = readConfig({ file: empty, env: {}, flags: [] }).settings;
  const values = (settings: typeof written) => settings.map(({ path, value }) => [path.join("."), value]);
  expect(values(written)).toEqual(values(defaults));
  expect(written.every(({ where }) => where.startsWith(file))).toBe(true);
});

test("examples/curl.sh runs, through a connection that is cut", async () => {
  expect(await bash(`examples/curl.sh ${served.url}`)).toMatch(
    /connection was cut[\s\S]*output: Deploying \.\.\. done\.\n$/,
  );
});

const hasGrpcurl = spawnSync("grpcurl", ["-version"]).status === 0;
test.skipIf(!hasGrpcurl)("examples/grpcurl.sh runs (skipped where grpcurl is not installed)", async () => {
  const output = await bash(`examples/grpcurl.sh ${new URL(served.url).host}`);
  expect(output).toMatch(/^harnessruntime\.v1\.ExecutionService\n[\s\S]*output: Deploying \.\.\. done\.\n$/m);
});
