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
  return aiModel(model, settings.maxRetries === undefined ? {} : { maxRetries: settings.maxRetries });
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
