// A governed agent within a program: it may list this folder and, once you said yes, write to it. See README.md here.
import { createInterface } from "node:readline/promises";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { agentDriver, aiModel, createApprovalManager, HarnessRuntime, mcpTools } from "harness-runtime";

const { MODEL_URL = "http://127.0.0.1:11434/v1", MODEL = "gpt-oss", MCP_FILES = "mcp-server-filesystem" } = process.env;
const terminal = createInterface({ input: process.stdin, output: process.stderr });
const files = await mcpTools({ command: MCP_FILES, args: [process.cwd()] });
const runtime = new HarnessRuntime({
  driver: agentDriver({ model: aiModel(createOpenAICompatible({ name: "local", baseURL: MODEL_URL })(MODEL)) }),
  tools: files.tools,
  grants: { toolIds: ["list_directory", "write_file"], modelRoles: ["main"] },
  budgets: { maxModelCalls: 20, maxTokens: 100_000 },
  approvalManager: createApprovalManager({
    policy: ["write_file"],
    onApproval: async ({ call }) => ({ approved: (await terminal.question(`${call.name}? y/n `)) === "y" }),
  }),
});
const options = { identity: { tenantId: "local", userId: "me" }, sessionId: "demo" };
const run = runtime.start(process.argv[2] ?? "What is in this folder?", options);
for await (const { payload } of run.events())
  if (payload.type === "output.text.delta") process.stdout.write(payload.text);
const { status, reason, usage } = await run.result();
console.error(`\n${status} ${reason?.message ?? ""} (${usage.totalTokens} tokens)`);
await Promise.all([files.close(), runtime.close(), terminal.close()]);
