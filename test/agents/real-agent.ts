import { existsSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withNoise } from "../../src/providers/acp/noise.js";
import { acpProvider } from "../../src/providers/acp/provider.js";
import type { AcpSettings } from "../../src/providers/acp/settings.js";
import { openMemoryStore } from "../../src/store/memory.js";
import { type LiveRuntime, openLiveRuntime } from "../support/live-runtime.js";
import { processesWith } from "../support/processes.js";
import { type ScriptedModel, startScriptedModel } from "../support/scripted-model/server.js";

/** The agents that are tried, by their presets. */
export type AgentName = "gemini" | "codex" | "opencode";

const modules = fileURLToPath(new URL("./node_modules", import.meta.url));

/** Where an agent's program is, and what it needs to speak to the scripted model. */
interface Installation {
  /** The file that tells whether it is installed. */
  readonly program: string;
  settings(home: string, modelUrl: string): Partial<AcpSettings>;
  /** Its configuration files, by their path in the home folder. */
  files(modelUrl: string): Readonly<Record<string, string>>;
}

const INSTALLATIONS: Readonly<Record<AgentName, Installation>> = {
  gemini: {
    program: join(modules, "@google/gemini-cli/bundle/gemini.js"),
    settings: (_, url) => ({
      command: process.execPath,
      args: [join(modules, "@google/gemini-cli/bundle/gemini.js"), "--acp", "-m", "gemini-2.5-pro"],
      env: { GEMINI_API_KEY: "test", GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_NO_RELAUNCH: "true" },
    }),
    files: () => ({
      ".gemini/settings.json": JSON.stringify({
        security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
        general: {
          ...{ disableAutoUpdate: true, disableUpdateNag: true },
          ...{ enableAutoUpdate: false, enableAutoUpdateNotification: false },
        },
      }),
    }),
  },
  codex: {
    program: join(modules, "@zed-industries/codex-acp-linux-x64/bin/codex-acp"),
    settings: (home) => ({
      command: join(modules, "@zed-industries/codex-acp-linux-x64/bin/codex-acp"),
      env: { CODEX_HOME: join(home, ".codex"), MODEL_KEY: "test", NO_BROWSER: "1" },
    }),
    files: (url) => ({
      ".codex/config.toml": [
        'model = "gpt-5.5"',
        'model_provider = "scripted"',
        'approval_policy = "on-request"',
        'sandbox_mode = "read-only"',
        "check_for_update_on_startup = false",
        'cli_auth_credentials_store = "file"',
        "[model_providers.scripted]",
        'name = "Scripted"',
        `base_url = "${url}/v1"`,
        'env_key = "MODEL_KEY"',
        'wire_api = "responses"',
        "request_max_retries = 0",
        "stream_max_retries = 0",
        "[features]",
        "plugins = false",
        "apps = false",
        "[analytics]",
        "enabled = false",
        "[feedback]",
        "enabled = false",
      ].join("\n"),
    }),
  },
  opencode: {
    program: join(modules, "opencode-linux-x64-baseline/bin/opencode"),
    settings: () => ({
      command: join(modules, "opencode-linux-x64-baseline/bin/opencode"),
      env: {
        ...{ OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" },
        ...{ OPENCODE_DISABLE_LSP_DOWNLOAD: "1", OPENCODE_DISABLE_DEFAULT_PLUGINS: "1" },
        npm_config_registry: "http://127.0.0.1:1/",
      },
    }),
    files: (url) => ({
      ".config/opencode/opencode.json": JSON.stringify({
        ...{ autoupdate: false, share: "disabled", model: "scripted/scripted", small_model: "scripted/scripted" },
        enabled_providers: ["scripted"],
        provider: {
          scripted: {
            ...{ npm: "@ai-sdk/openai-compatible", name: "Scripted" },
            options: { baseURL: `${url}/v1`, apiKey: "test" },
            models: { scripted: { name: "Scripted", tool_call: true, limit: { context: 128_000, output: 8_192 } } },
          },
        },
        permission: { bash: "ask", edit: "ask" },
      }),
    }),
  },
};

/** Whether an agent is installed: `npm ci` in this folder does it. */
export function isInstalled(agent: AgentName): boolean {
  return existsSync(INSTALLATIONS[agent].program);
}

/** A runtime with one real agent, a home folder of its own, and a scripted model that it speaks to. */
export interface RealAgent extends LiveRuntime {
  readonly model: ScriptedModel;
  readonly workspace: string;
  /** Kills every process of the agent's program, as the system does when memory is short. */
  killAgents(): Promise<void>;
  /** Processes that the agent, or what it started, still has. */
  alive(): Promise<string[]>;
}

/** Makes a home folder for an agent under `root`, and returns the settings with which it lives there and speaks to the model. */
export async function settle(agent: AgentName, root: string, modelUrl: string): Promise<AcpSettings> {
  const [home, workspace] = [join(root, "home"), join(root, "workspace")];
  await mkdir(workspace, { recursive: true });
  const installation = INSTALLATIONS[agent];
  for (const [name, text] of Object.entries(installation.files(modelUrl))) {
    await mkdir(join(home, name, ".."), { recursive: true });
    await writeFile(join(home, name), text);
  }
  const { env, ...own } = installation.settings(home, modelUrl);
  const folders = ["CONFIG", "DATA", "CACHE", "STATE"].map((kind) => [`XDG_${kind}_HOME`, join(home, folderOf(kind))]);
  return {
    ...{ agent, cwd: workspace, ...own },
    env: { HOME: home, TMPDIR: root, ...Object.fromEntries(folders), ...env },
  };
}

/** A folder for an agent and all that it needs. */
export async function makeRoot(agent: AgentName): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), `agent-${agent}-`)));
}

/** Processes of an agent that lives under `root`, and of what it started. */
export function processesUnder(root: string): Promise<string[]> {
  return processesWith(`HOME=${join(root, "home")}`);
}

/** The provider of the same agent with noise in its output. */
export const NOISY = "noisy";

/** Opens a runtime with a real agent as the provider of its preset's name, and once more as {@link NOISY}. */
export async function openRealAgent(agent: AgentName): Promise<RealAgent> {
  const root = await makeRoot(agent);
  const model = await startScriptedModel();
  const store = openMemoryStore();
  const settings = await settle(agent, root, model.url);
  const providers = [acpProvider(settings), acpProvider(withNoise(settings, NOISY))];
  const live = await openLiveRuntime({ providers, store, dataDir: join(root, "data") });
  return {
    ...live,
    ...{ model, workspace: join(root, "workspace") },
    alive: () => processesUnder(root),
    async killAgents() {
      for (const pid of await processesWith(INSTALLATIONS[agent].program)) {
        try {
          process.kill(Number(pid), "SIGKILL");
        } catch {
          // It ended with another one.
        }
      }
    },
    async close() {
      await live.close();
      await store.close();
      await model.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

function folderOf(kind: string): string {
  return { CONFIG: ".config", DATA: ".local/share", CACHE: ".cache", STATE: ".local/state" }[kind] ?? kind;
}
