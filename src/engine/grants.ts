import { invalid } from "../core/errors.js";
import { type KeysOf, refuseUnknownKeys } from "./known-keys.js";

/** What a run may use. Anything that is not named is denied. */
export interface HarnessGrants {
  /** Tools and effects, by name. */
  readonly toolIds: readonly string[];
  /** Those of `toolIds` without which a run cannot do its work. */
  readonly requiredToolIds?: readonly string[];
  /** Roles of models, such as `main`. */
  readonly modelRoles: readonly string[];
}

/** Grants after every check; frozen. */
export interface EffectiveGrants {
  readonly toolIds: readonly string[];
  readonly requiredToolIds: readonly string[];
  readonly modelRoles: readonly string[];
}

const GRANT_KEYS: KeysOf<HarnessGrants> = { toolIds: true, requiredToolIds: true, modelRoles: true };

/**
 * Checks the host's grants and returns a frozen copy. Fails with VALIDATION_ERROR
 * where there are none, on an unknown key, a duplicate, or a required tool that is not granted.
 */
export function checkGrants(grants: HarnessGrants): EffectiveGrants {
  if (grants !== undefined) refuseUnknownKeys("grants", grants, GRANT_KEYS);
  if (!Array.isArray(grants?.toolIds) || !Array.isArray(grants.modelRoles)) {
    throw invalid("grants", "name toolIds and modelRoles, which may be empty");
  }
  const toolIds = unique("grants.tool_ids", grants.toolIds);
  const requiredToolIds = unique("grants.required_tool_ids", grants.requiredToolIds ?? []);
  const modelRoles = unique("grants.model_roles", grants.modelRoles);
  for (const id of requiredToolIds) {
    if (!toolIds.includes(id)) {
      throw invalid(
        "grants.required_tool_ids",
        `the required tool ${JSON.stringify(id)} is not granted; name it in tool_ids too`,
      );
    }
  }
  return Object.freeze({ toolIds, requiredToolIds, modelRoles });
}

/**
 * Returns what a run gets that asks for `wanted` (unset: all) of a host that grants
 * `host`. Fails with VALIDATION_ERROR where it asks for more than there is, twice
 * for the same, or leaves out a tool that the host requires.
 */
export function narrowGrants(host: EffectiveGrants, wanted: HarnessGrants | undefined): EffectiveGrants {
  if (wanted === undefined) return host;
  const narrowed = checkGrants(wanted);
  within("grants.tool_ids", narrowed.toolIds, host.toolIds);
  within("grants.model_roles", narrowed.modelRoles, host.modelRoles);
  for (const id of host.requiredToolIds) {
    if (!narrowed.toolIds.includes(id)) {
      throw invalid("grants.tool_ids", `the required tool ${JSON.stringify(id)} is left out; grant it too`);
    }
  }
  const requiredToolIds = Object.freeze([...new Set([...host.requiredToolIds, ...narrowed.requiredToolIds])]);
  return Object.freeze({ ...narrowed, requiredToolIds });
}

function unique(field: string, names: readonly string[]): readonly string[] {
  for (const [index, name] of names.entries()) {
    if (typeof name !== "string" || name === "") throw invalid(field, `entry ${index} is not a name`);
    if (names.indexOf(name) !== index) throw invalid(field, `${JSON.stringify(name)} is there twice; name it once`);
  }
  return Object.freeze([...names]);
}

function within(field: string, wanted: readonly string[], granted: readonly string[]): void {
  const more = wanted.filter((name) => !granted.includes(name));
  if (more.length > 0) {
    throw invalid(field, `${more.map((name) => JSON.stringify(name)).join(", ")} is more than the host grants`);
  }
}
