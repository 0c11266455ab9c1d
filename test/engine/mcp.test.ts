import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentDriver, aiModel, type McpServer, mcpResource, mcpTools } from "../../src/engine.js";
import { type ScriptedModel, startScriptedModel } from "../support/scripted-model/server.js";
import { eventOf, MAIN, OPTIONS, runOnce, runtimeOf, type Script } from "./fixtures.js";

const require = createRequire(import.meta.url);

const FILES = join(dirname(require.resolve("@modelcontextprotocol/server-filesystem/package.json")), "dist/index.js");
const EVERYTHING = join(
  dirname(require.resolve("@modelcontextprotocol/server-everything/package.json")),
  "dist/index.js",
);

let scripted: ScriptedModel;
let dir = "";

beforeAll(async () => {
  scripted = await startScriptedModel();
  dir = await mkdtemp(join(tmpdir(), "mcp-"));
});
afterAll(async () => {
  await scripted.close();
  await rm(dir, { recursive: true });
});

const filesystem = (): McpServer => ({ command: process.execPath, args: [FILES, dir] });

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

describe("MCP over stdio", () => {
  test("E180 a signal ends the connecting to a server that does not answer", async () => {
    const abort = new AbortController();
    const silent = { command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"] };
    const connecting = mcpTools(silent, { signal: abort.signal });
    abort.abort(new Error("the run is over"));
    await expect(connecting).rejects.toThrow("the run is over");
  });

  test("E180 a real file server's tools are the agent's, with the effects that it declares", async () => {
    const connection = await mcpTools(filesystem(), { prefix: "fs_" });
    try {
      const names = connection.tools.map(({ name }) => name);
      expect(names).toContain("fs_write_file");
      expect(connection.tools.find(({ name }) => name === "fs_read_text_file")?.effect).toBe("read");
      expect(connection.tools.find(({ name }) => name === "fs_write_file")?.effect).not.toBe("read");
      const local = createOpenAICompatible({ name: "local", baseURL: `${scripted.url}/v1` });
      const runtime = runtimeOf(agentDriver({ model: aiModel(local("scripted")) }), {
        tools: connection.tools,
        grants: { ...MAIN, toolIds: names },
      });
      const path = join(dir, "note.txt");
      const handle = runtime.start(
        `write\n@model tool fs_write_file ${JSON.stringify({ path, content: "from the agent" })}`,
        OPTIONS,
      );
      expect((await handle.result()).status).toBe("completed");
      expect(await readFile(path, "utf8")).toBe("from the agent");
      const outside = runtime.start('read\n@model tool fs_read_text_file {"path": "/etc/passwd"}', OPTIONS);
      expect(await eventOf(outside, "tool.call.completed")).toMatchObject({
        error: expect.stringContaining("outside"),
      });
      expect((await outside.result()).text).toContain("Failed");
      const planned = await runtime.run(
        `write\n@model tool fs_write_file ${JSON.stringify({ path, content: "again" })}`,
        { ...OPTIONS, runMode: "plan" },
      );
      expect(planned.text).toContain("Not run (policy)");
      expect(await readFile(path, "utf8")).toBe("from the agent");
    } finally {
      await connection.close();
    }
  });

  test("E181 only the tools that are named are taken, and one that is not there is an error", async () => {
    const connection = await mcpTools(filesystem(), { only: ["list_directory"] });
    expect(connection.tools.map(({ name }) => name)).toEqual(["list_directory"]);
    await connection.close();
    await expect(mcpTools(filesystem(), { only: ["format_disk"] })).rejects.toThrow("format_disk");
  });

  test("E182 as a resource it is closed with its scope", async () => {
    const use: Script = async (services) => {
      const { tools } = await services.resource("files", "run", () => mcpResource(filesystem()));
      return `${tools.length > 5}`;
    };
    const result = await runOnce(use, { cleanupTimeoutMs: 10_000 });
    expect(result).toMatchObject({ status: "completed", text: "true" });
    expect(result).not.toHaveProperty("cleanupDiagnostics");
  });

  test("E183 a server that cannot be started, or is none, is an error that names it", async () => {
    await expect(mcpTools({ command: "/no/such/server" })).rejects.toThrow("/no/such/server");
    const silent = { command: process.execPath, args: ["-e", "setTimeout(() => {}, 60000)"] };
    await expect(mcpTools(silent, { connectTimeoutMs: 300 })).rejects.toThrow("gives no tools");
  });
});

describe("MCP over HTTP", () => {
  test("E184 a real server's tools are called by their schema, and what it calls an error is one", async () => {
    const port = await freePort();
    const server = spawn(process.execPath, [EVERYTHING, "streamableHttp"], {
      env: { PATH: process.env["PATH"], PORT: String(port) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
        server.stderr?.on("data", (data: Buffer) => String(data).includes(String(port)) && resolve());
      });
      const connection = await mcpTools({ url: `http://127.0.0.1:${port}/mcp`, headers: { "x-test": "1" } });
      const result = await runOnce(
        async (services) => {
          const echo = await services.dispatch({ id: "c1", name: "echo", arguments: { message: "hi" } });
          const wrong = await services.dispatch({ id: "c2", name: "echo", arguments: { message: 7 } });
          return `${echo.result} / ${wrong.error}`;
        },
        { tools: connection.tools, grants: { toolIds: ["echo"], modelRoles: [] } },
      );
      expect(result.text).toMatch(/^Echo: hi \/ arguments\.message/);
      await connection.close();
    } finally {
      server.kill("SIGKILL");
    }
    await expect(mcpTools({ url: `http://127.0.0.1:${port}/mcp` })).rejects.toThrow("gives no tools");
  });
});
