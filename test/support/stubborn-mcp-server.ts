// An MCP server with one tool that ignores the end of its input and SIGTERM, and has a child in a session of its own:
// `sleep` with the program's argument.
import { spawn } from "node:child_process";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

process.on("SIGTERM", () => {});
setInterval(() => {}, 60_000);
spawn("sleep", [process.argv[2] ?? "60"], { stdio: "ignore", detached: true });
const server = new McpServer({ name: "stubborn", version: "1" });
server.registerTool("nothing", { description: "Does nothing." }, () => ({ content: [{ type: "text", text: "done" }] }));
await server.connect(new StdioServerTransport());
