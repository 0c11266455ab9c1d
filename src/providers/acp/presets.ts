/** What is known of an agent: how it is started, and what to tell those who have not set it up. */
export interface Preset {
  /** Its name for people. */
  readonly label: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Variables that it always gets. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables of the runtime that it gets where they are set. */
  readonly inheritEnv: readonly string[];
  /** The command that installs it. */
  readonly install: string;
  /** How to log in to it. */
  readonly login: string;
  /** Variables that hold a credential, with the ID of the agent's login that takes it: made where it asks for one. */
  readonly logins: Readonly<Record<string, string>>;
  /** Whether it can load a session of an earlier process. */
  readonly loadSession: boolean;
  /**
   * Whether it names the file of a session by the minute in which the session began. Loaded in that same minute, such a
   * session is overwritten: it is loaded in the next.
   */
  readonly namesSessionsByMinute: boolean;
  /** Whether it asks its client to fill in forms. */
  readonly elicitation: boolean;
}

/** The agents that need no more than their name. Each is tried in full, as `docs/providers/acp.md` says. */
export const PRESETS = {
  gemini: {
    label: "Gemini CLI",
    command: "gemini",
    args: ["--acp"],
    // Else it starts itself anew, which takes a second and doubles its memory.
    env: { GEMINI_CLI_NO_RELAUNCH: "true" },
    inheritEnv: [
      ...["GEMINI_API_KEY", "GEMINI_MODEL", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"],
      ...["GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_PROJECT", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"],
    ],
    install: "npm install -g @google/gemini-cli",
    login: "set GEMINI_API_KEY where the runtime runs, or run `gemini` once and log in",
    logins: {},
    loadSession: true,
    namesSessionsByMinute: true,
    elicitation: false,
  },
  codex: {
    label: "Codex",
    command: "codex-acp",
    args: [],
    // It must not open a browser on the machine of a runtime.
    env: { NO_BROWSER: "1" },
    inheritEnv: ["CODEX_API_KEY", "CODEX_HOME", "OPENAI_API_KEY"],
    install: "npm install -g @zed-industries/codex-acp",
    login: "set OPENAI_API_KEY where the runtime runs, or run `codex login`",
    logins: { CODEX_API_KEY: "codex-api-key", OPENAI_API_KEY: "openai-api-key" },
    loadSession: true,
    namesSessionsByMinute: false,
    elicitation: false,
  },
  opencode: {
    label: "opencode",
    command: "opencode",
    args: ["acp"],
    env: { OPENCODE_DISABLE_AUTOUPDATE: "1" },
    inheritEnv: [
      ...["ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENAI_API_KEY"],
      ...["OPENCODE_API_KEY", "OPENCODE_CONFIG", "OPENCODE_DISABLE_DEFAULT_PLUGINS", "OPENCODE_DISABLE_LSP_DOWNLOAD"],
      ...["OPENCODE_DISABLE_MODELS_FETCH", "OPENROUTER_API_KEY"],
    ],
    install: "npm install -g opencode-ai",
    login: "run `opencode auth login`",
    logins: {},
    loadSession: true,
    namesSessionsByMinute: false,
    elicitation: false,
  },
} as const satisfies Readonly<Record<string, Preset>>;

export type PresetName = keyof typeof PRESETS;
