import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError } from "../../core/errors.js";
import { type AiLanguageModel, aiModel } from "../../engine/ai/ai-model.js";
import type { ModelProvider } from "../../engine/model.js";
import type { ModelSettings } from "./settings.js";

/** The variables of the environment that this process was given. */
export type Environment = Readonly<Record<string, string | undefined>>;

const KEY_VARIABLES: Readonly<Record<ModelSettings["provider"], string | undefined>> = {
  "openai-compatible": undefined,
  anthropic: "ANTHROPIC_API_KEY",
  google: "GOOGLE_GENERATIVE_AI_API_KEY",
};

const PACKAGES: Readonly<Record<ModelSettings["provider"], string>> = {
  "openai-compatible": "@ai-sdk/openai-compatible",
  anthropic: "@ai-sdk/anthropic",
  google: "@ai-sdk/google",
};

/** Opens a model. Fails with PROVIDER_UNAVAILABLE where its key or its package is missing, saying what to do. */
export async function openModel(settings: ModelSettings, env: Environment): Promise<ModelProvider> {
  const variable = settings.apiKeyEnv ?? KEY_VARIABLES[settings.provider];
  const apiKey = variable === undefined ? undefined : env[variable];
  if (variable !== undefined && !apiKey) throw unavailable(`the key of ${settings.model} is missing; set ${variable}`);
  const common = {
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(settings.baseUrl === undefined ? {} : { baseURL: settings.baseUrl }),
    ...(settings.headers === undefined ? {} : { headers: { ...settings.headers } }),
  };
  const model = await load(settings, common);
  const opened = aiModel(model, settings.maxRetries === undefined ? {} : { maxRetries: settings.maxRetries });
  return settings.baseUrl === undefined ? opened : namingAddress(opened, settings.baseUrl);
}

/** What the SDK, and the system below it, say where nobody answers. */
const UNREACHED = /Cannot connect to API|fetch failed|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH/;

/** The same model, whose errors name the address that was not reached. */
function namingAddress(model: ModelProvider, baseUrl: string): ModelProvider {
  const named = (error: unknown): unknown => {
    if (!(error instanceof Error && UNREACHED.test(error.message))) return error;
    const address = `${error.message.trim()}: no model answers at base_url ${baseUrl}; start it, or set another`;
    return new Error(address, { cause: error });
  };
  return {
    ...model,
    async generate(messages, options) {
      try {
        return await model.generate(messages, options);
      } catch (error) {
        throw named(error);
      }
    },
    async *stream(messages, options) {
      try {
        yield* model.stream(messages, options);
      } catch (error) {
        throw named(error);
      }
    },
  };
}

interface Common {
  readonly apiKey?: string;
  readonly baseURL?: string;
  readonly headers?: Record<string, string>;
}

async function load({ provider, model, baseUrl = "" }: ModelSettings, common: Common): Promise<AiLanguageModel> {
  try {
    switch (provider) {
      case "anthropic":
        return (await import("@ai-sdk/anthropic")).createAnthropic(common)(model);
      case "google":
        return (await import("@ai-sdk/google")).createGoogleGenerativeAI(common)(model);
      default: {
        const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
        return createOpenAICompatible({ ...common, name: "openai-compatible", baseURL: baseUrl, includeUsage: true })(
          model,
        );
      }
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw unavailable(`the package ${PACKAGES[provider]} is not installed; run: npm install ${PACKAGES[provider]}`);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
}

function unavailable(message: string): HarnessError {
  return new HarnessError(ErrorReason.PROVIDER_UNAVAILABLE, message);
}
