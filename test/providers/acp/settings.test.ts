import { resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { buildEnvironment } from "../../../src/providers/acp/environment.js";
import { acpProvider } from "../../../src/providers/acp/provider.js";
import { type AcpSettings, parseAcpSettings, resolveSettings } from "../../../src/providers/acp/settings.js";
import { closeFixtures, openAgent } from "./fixture.js";

afterEach(closeFixtures);

describe("settings", () => {
  test("of a known agent are its name", () => {
    expect(resolveSettings(parseAcpSettings({ agent: "gemini" }))).toMatchObject({
      ...{ id: "gemini", label: "Gemini CLI", command: "gemini", args: ["--acp"], files: "write", loadSession: true },
    });
  });

  test("of any other agent are its command", () => {
    const settings = resolveSettings(parseAcpSettings({ command: "/opt/my/agent", args: ["--acp"] }));
    expect(settings).toMatchObject({
      id: "agent",
      label: "agent",
      args: ["--acp"],
      loadSession: undefined,
      elicitation: true,
    });
  });

  test("a command that is a path begins at the runtime's folder, not at the execution's", () => {
    expect(resolveSettings({ command: "./bin/agent" }).command).toBe(resolve("bin/agent"));
    expect(resolveSettings({ command: "agent" }).command).toBe("agent");
  });

  test("in a file are in snake_case, and names in maps stay as they are", () => {
    const server = { command: "node", args: ["s.js"], env: { MY_VAR: "1" } };
    const parsed = parseAcpSettings({
      ...{ agent: "codex", inherit_env: ["A"], env: { some_name: "x" }, load_session: false },
      limits: { turn_ms: 5, max_line_bytes: 70_000 },
      mcp: { servers: { my_server: server }, allow_commands: ["npx"] },
    });
    expect(parsed).toEqual({
      ...{ agent: "codex", inheritEnv: ["A"], env: { some_name: "x" }, loadSession: false },
      limits: { turnMs: 5, maxLineBytes: 70_000 },
      mcp: { servers: { my_server: server }, allowCommands: ["npx"] },
    });
  });

  test.each([
    [{}, "agent"],
    [{ agent: "clippy" }, 'must be one of "gemini", "codex", "opencode"'],
    [{ agent: "codex", colour: "red" }, '"colour"'],
    [{ agent: "codex", limits: { turn: 1 } }, '"turn"'],
    [{ agent: "codex", capacity: 0 }, "acp.capacity"],
    [{ agent: "codex", mcp: { servers: { a: { args: [] } } } }, "acp.mcp.servers.a"],
    [{ agent: "codex", env: { A: 1 } }, "acp.env.A"],
  ])("%j is refused with the place of the fault", (json, message) => {
    expect(() => parseAcpSettings(json)).toThrow(
      expect.objectContaining({ reason: ErrorReason.VALIDATION_ERROR, message: expect.stringContaining(message) }),
    );
  });

  test.each(["gemini", "codex", "opencode"] as const)("the preset %s declares what is tested of it", (agent) => {
    expect(acpProvider({ agent }).manifest.capabilities).toMatchObject({
      "action.approval": SupportLevel.NATIVE,
      "action.input": SupportLevel.UNSUPPORTED,
      "conversation.continuity": SupportLevel.NATIVE,
      "input.follow_up": SupportLevel.NATIVE,
      "input.replace": SupportLevel.EMULATED,
      "input.steer": SupportLevel.UNSUPPORTED,
    });
  });

  test("an environment is built of a short list, what is allowed and what is set", () => {
    const own = { PATH: "/p", HOME: "/h", AWS_SECRET: "s", GEMINI_API_KEY: "k", TERM: "xterm" };
    expect(buildEnvironment({ env: { HOME: "/other" }, inheritEnv: ["GEMINI_API_KEY", "NOT_SET"] }, own)).toEqual({
      ...{ PATH: "/p", HOME: "/other", GEMINI_API_KEY: "k", TERM: "dumb", LANG: "C.UTF-8" },
    });
  });
});

describe("MCP servers of an execution", () => {
  const mcp: NonNullable<AcpSettings["mcp"]> = {
    servers: { docs: { command: "docs-server", env: { TOKEN: "t" } }, web: { url: "https://web.example.com/mcp" } },
    allowCommands: ["npx"],
    allowOrigins: ["https://mcp.example.com"],
  };

  test("reach the agent where they are allowed", async () => {
    const { run } = await openAgent({ mcp });
    const servers = {
      ...{ docs: true, web: true, mine: { command: "npx", args: ["-y", "thing"] } },
      far: { url: "https://mcp.example.com/x", headers: { a: "b" } },
    };
    const live = await run([{ servers: true }], { config: { mcp_servers: servers } });
    await live.end();
    expect(JSON.parse(live.text())).toEqual([
      { name: "docs", command: "docs-server", args: [], env: [{ name: "TOKEN", value: "t" }] },
      { type: "http", name: "web", url: "https://web.example.com/mcp", headers: [] },
      { name: "mine", command: "npx", args: ["-y", "thing"], env: [] },
      { type: "http", name: "far", url: "https://mcp.example.com/x", headers: [{ name: "a", value: "b" }] },
    ]);
  });

  test.each([
    [{ other: true }, "has no MCP server other"],
    [{ x: { command: "/bin/sh" } }, 'mcp.allow_commands does not have "/bin/sh"'],
    [{ x: { url: "https://mcp.example.com.evil.org/" } }, "mcp.allow_origins does not have"],
    [{ x: { url: "not a url" } }, "mcp.allow_origins does not have"],
    [{ x: { command: "npx", url: "https://mcp.example.com" } }, "config.mcp_servers.x"],
    [{ __proto__x: true, constructor: true }, "has no MCP server constructor"],
  ])("%j are refused before anything starts", async (mcp_servers, message) => {
    const { run, alive } = await openAgent({ mcp });
    await expect(run("x", { config: { mcp_servers } })).rejects.toMatchObject({
      ...{ reason: ErrorReason.VALIDATION_ERROR, message: expect.stringContaining(message) },
    });
    expect(await alive()).toEqual([]);
  });

  test("that the agent cannot speak to fail the execution, and say so", async () => {
    const { run } = await openAgent({ mcp: { servers: { s: { url: "http://127.0.0.1:1/", type: "sse" } } } });
    const execution = await (await run("x", { config: { mcp_servers: { s: true } } })).end();
    expect(execution.error?.message).toContain("cannot use the MCP server s: it does not speak sse");
  });
});
