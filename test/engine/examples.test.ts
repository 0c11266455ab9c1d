import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { parseAgentSettings } from "../../src/providers/agent/settings.js";
import { SETTINGS_SCHEMA } from "../../src/providers/agent/settings-schema.js";
import { build, ROOT, startCommand } from "../cli/support/processes.js";
import { type ScriptedModel, startScriptedModel } from "../support/scripted-model/server.js";

let scripted: ScriptedModel;
let folder = "";

beforeAll(async () => {
  build();
  scripted = await startScriptedModel();
  folder = await mkdtemp(join(tmpdir(), "embedded-"));
}, 120_000);
afterAll(async () => {
  await scripted.close();
  await rm(folder, { recursive: true });
});

test.each([
  ["y", "approved: haiku"],
  ["n", undefined],
])(
  "E196 the embedded example's agent asks before it writes; after the answer %s it has written %s",
  async (said, written) => {
    const path = join(folder, `${said}.txt`);
    const script = `Write.\n@model tool write_file ${JSON.stringify({ path, content: "approved: haiku" })}\n@model text all done`;
    const env = {
      MODEL_URL: `${scripted.url}/v1`,
      MODEL: "scripted",
      MCP_FILES: join(ROOT, "node_modules/.bin/mcp-server-filesystem"),
    };
    const example = startCommand(process.execPath, [join(ROOT, "examples/embedded/agent.ts"), script], {
      cwd: folder,
      env,
    });
    await example.saw(/write_file\? y\/n/);
    example.child.stdin?.write(`${said}\n`);
    const { code, stdout, stderr } = await example.ended;
    expect(stdout).toBe("all done");
    expect(stderr).toContain("completed");
    expect(code).toBe(0);
    expect(await readFile(path, "utf8").catch(() => undefined)).toBe(written);
  },
  60_000,
);

test("E196 the embedded example has at most 20 lines of code", async () => {
  const text = await readFile(join(ROOT, "examples/embedded/agent.ts"), "utf8");
  const lines = text.split("\n").filter((line) => line !== "" && !/^(\/\/|import )/.test(line));
  expect(lines.length).toBeLessThanOrEqual(20);
});

test("the settings in the guide to agents are valid, and its table names every key", async () => {
  const text = await readFile(join(ROOT, "docs/guides/agent.md"), "utf8");
  const yaml = /```yaml\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
  const { helper } = parse(yaml).providers.agent;
  expect(parseAgentSettings(helper)).toMatchObject({ approvals: "unsafe", budgets: { maxModelCalls: 30 } });
  const keys = Object.keys(SETTINGS_SCHEMA["properties"] as object).filter((key) => key !== "id");
  const listed = [...text.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, key]) => key),
  );
  expect(listed.toSorted()).toEqual(keys.toSorted());
});

test("the guide to embedding shows the embedded example's own words", async () => {
  const guide = await readFile(join(ROOT, "docs/guides/embed.md"), "utf8");
  const example = await readFile(join(ROOT, "examples/embedded/agent.ts"), "utf8");
  for (const line of example.split("\n").filter((text) => /^ {2}(grants|budgets):/.test(text)))
    expect(guide).toContain(line);
  const services = [...guide.matchAll(/^\| (`[a-zA-Z`, ]+) \| (?!any)/gm)].flatMap(([, cell = ""]) => cell.split(", "));
  expect(services).toContain("`controlModel`");
});
