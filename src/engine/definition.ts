import { invalid } from "../core/errors.js";
import type { HarnessAbility } from "./ability.js";
import type { HarnessBudgets } from "./budgets.js";
import { canonicalSha256 } from "./canonical-json.js";
import type { CompletionPolicy } from "./completion.js";
import type { ContextPolicy } from "./context-policy.js";
import type { StepController } from "./controller.js";
import { checkKeys, type KeyRules, secretKey } from "./definition-keys.js";
import type { ExecutionDriver } from "./driver.js";
import type { ModelRoleBinding } from "./model.js";
import type { ToolDef } from "./tool.js";

/**
 * What to run, apart from how the host lets it run: either a portable manifest
 * whose names are looked up among what the host approved, or live code.
 */
export type HarnessDefinition =
  | { readonly kind: "portable"; readonly manifest: HarnessManifest; readonly registries: HarnessRegistries }
  | {
      readonly kind: "local";
      readonly id: string;
      readonly driver?: ExecutionDriver;
      readonly defaults?: HarnessDefaults;
      readonly limits?: HarnessLimits;
      readonly requirements?: readonly string[];
      readonly abilities?: readonly HarnessAbility[];
    };

/** A portable definition: plain JSON with no code and no secrets in it. */
export interface HarnessManifest {
  /** 1 to 100 letters, digits, `.`, `_` and `-`. */
  readonly id: string;
  readonly contractVersion: 1;
  readonly description?: string;
  readonly defaults?: HarnessDefaults;
  readonly limits?: HarnessLimits;
  /** What the host must grant for it to run, such as `network`; free words. */
  readonly requirements?: readonly string[];
  readonly runtime: {
    /** The driver's name in the registry. */
    readonly driver: string;
    /** The registry's model for each role. */
    readonly modelRoles?: Readonly<Record<string, string>>;
    /** The registry's tools that it may be granted. */
    readonly tools?: readonly string[];
    readonly abilities?: readonly string[];
    readonly controller?: string;
    readonly contextPolicy?: string;
    readonly completionPolicy?: string;
  };
}

/** How an agent driver behaves unless it is told otherwise. */
export interface HarnessDefaults {
  /** System text. */
  readonly instructions?: string;
  readonly modelRole?: string;
  readonly temperature?: number;
  /** The most tokens of one answer. */
  readonly maxTokens?: number;
  /** A JSON Schema that the final answer must fit. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
}

/** Bounds of a definition; the lower of these and the host's budgets holds. */
export interface HarnessLimits extends Readonly<HarnessBudgets> {
  /** Model calls of one turn of an agent loop. */
  readonly maxSteps?: number;
}

/** What the host approved, by name: nothing else can be reached from a manifest. */
export interface HarnessRegistries {
  readonly drivers: Readonly<Record<string, ExecutionDriver>>;
  readonly models?: Readonly<Record<string, ModelRoleBinding>>;
  readonly tools?: Readonly<Record<string, ToolDef>>;
  readonly abilities?: Readonly<Record<string, HarnessAbility>>;
  readonly controllers?: Readonly<Record<string, StepController>>;
  readonly contextPolicies?: Readonly<Record<string, ContextPolicy>>;
  readonly completionPolicies?: Readonly<Record<string, CompletionPolicy>>;
}

/** A definition with every name resolved. */
export interface ResolvedDefinition {
  readonly id: string;
  readonly driver?: ExecutionDriver;
  readonly defaults: HarnessDefaults;
  readonly limits: HarnessLimits;
  readonly requirements: readonly string[];
  readonly models: Readonly<Record<string, ModelRoleBinding>>;
  readonly tools: readonly ToolDef[];
  readonly abilities: readonly HarnessAbility[];
  readonly controller?: StepController;
  readonly contextPolicy?: ContextPolicy;
  readonly completionPolicy?: CompletionPolicy;
}

const MANIFEST_KEYS: KeyRules = {
  id: "string",
  contractVersion: "number",
  description: "string",
  defaults: {
    instructions: "string",
    modelRole: "string",
    temperature: "number",
    maxTokens: "number",
    outputSchema: "free",
  },
  limits: {
    maxModelCalls: "number",
    maxToolCalls: "number",
    maxTokens: "number",
    maxRevisions: "number",
    maxSteps: "number",
  },
  requirements: "strings",
  runtime: {
    driver: "string",
    modelRoles: "free",
    tools: "strings",
    abilities: "strings",
    controller: "string",
    contextPolicy: "string",
    completionPolicy: "string",
  },
};

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/**
 * Checks a manifest and returns a frozen copy with its canonical SHA-256. Fails
 * with VALIDATION_ERROR on a missing, unknown or secret-looking key, or a wrong value.
 */
export function parseManifest(value: unknown): { readonly manifest: HarnessManifest; readonly sha256: string } {
  const secret = secretKey(value);
  if (secret !== undefined)
    throw invalid(secret, "a definition holds no secrets; let the host give them to what needs them");
  checkKeys("manifest", value, MANIFEST_KEYS, ["id", "contractVersion", "runtime"]);
  const manifest = structuredClone(value) as HarnessManifest;
  if (!ID.test(manifest.id)) throw invalid("manifest.id", "must be 1 to 100 letters, digits, '.', '_' and '-'");
  if (manifest.contractVersion !== 1) throw invalid("manifest.contractVersion", "must be 1");
  if (typeof manifest.runtime.driver !== "string") throw invalid("manifest.runtime.driver", "is required");
  return { manifest: deepFreeze(manifest), sha256: canonicalSha256(manifest) };
}

/**
 * Resolves a definition. Fails with VALIDATION_ERROR where a manifest is not valid,
 * a name is not in the registries, or it requires what the host does not grant.
 */
export function resolveDefinition(definition: HarnessDefinition, granted: readonly string[]): ResolvedDefinition {
  const resolved = definition.kind === "portable" ? resolvePortable(definition) : resolveLocal(definition);
  const missing = resolved.requirements.filter((requirement) => !granted.includes(requirement));
  if (missing.length > 0) {
    throw invalid(
      "requirements",
      `the definition ${resolved.id} needs ${missing.join(", ")}, which the host does not grant`,
    );
  }
  return resolved;
}

function resolveLocal(definition: Extract<HarnessDefinition, { kind: "local" }>): ResolvedDefinition {
  if (definition.id === "") throw invalid("definition.id", "must not be empty");
  return {
    id: definition.id,
    ...(definition.driver === undefined ? {} : { driver: definition.driver }),
    defaults: deepFreeze(structuredClone(definition.defaults ?? {})),
    limits: deepFreeze(structuredClone(definition.limits ?? {})),
    requirements: [...(definition.requirements ?? [])],
    models: {},
    tools: [],
    abilities: [...(definition.abilities ?? [])],
  };
}

function resolvePortable(definition: Extract<HarnessDefinition, { kind: "portable" }>): ResolvedDefinition {
  const { manifest } = parseManifest(definition.manifest);
  const { registries } = definition;
  const { runtime } = manifest;
  const roles = Object.entries(runtime.modelRoles ?? {});
  return {
    id: manifest.id,
    driver: lookUp("driver", registries.drivers, runtime.driver),
    defaults: manifest.defaults ?? {},
    limits: manifest.limits ?? {},
    requirements: manifest.requirements ?? [],
    models: Object.fromEntries(roles.map(([role, name]) => [role, lookUp("model", registries.models, name)])),
    tools: (runtime.tools ?? []).map((name) => lookUp("tool", registries.tools, name)),
    abilities: (runtime.abilities ?? []).map((name) => lookUp("ability", registries.abilities, name)),
    ...optional("controller", registries.controllers, runtime.controller),
    ...optional("contextPolicy", registries.contextPolicies, runtime.contextPolicy),
    ...optional("completionPolicy", registries.completionPolicies, runtime.completionPolicy),
  };
}

function optional<K extends string, T>(
  key: K,
  registry: Readonly<Record<string, T>> | undefined,
  name: string | undefined,
): { readonly [P in K]?: T } {
  return name === undefined ? {} : ({ [key]: lookUp(key, registry, name) } as { readonly [P in K]: T });
}

function lookUp<T>(what: string, registry: Readonly<Record<string, T>> | undefined, name: string): T {
  const found = registry !== undefined && Object.hasOwn(registry, name) ? registry[name] : undefined;
  if (found === undefined)
    throw invalid(`manifest.runtime.${what}`, `the host approved no ${what} of the name ${JSON.stringify(name)}`);
  return found;
}

/** Freezes a JSON value and all that is in it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) deepFreeze(item);
  }
  return value;
}
