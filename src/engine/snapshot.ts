import { invalid } from "../core/errors.js";
import type { ExecutionDriver, TeamMember } from "./driver.js";
import type { ModelProvider, ModelRoleBinding } from "./model.js";
import { isStandardSchema, type ToolDef } from "./tool.js";

/**
 * Returns a frozen copy of an object with its functions bound to the original:
 * what the caller puts into the original later is not seen.
 */
export function bindMethods<T extends object | undefined>(original: T): T {
  if (original === undefined) return original;
  const copy: Record<string, unknown> = {};
  for (const key of allKeys(original)) {
    const value: unknown = Reflect.get(original, key);
    copy[key] = typeof value === "function" ? value.bind(original) : value;
  }
  return Object.freeze(copy) as T;
}

/** Returns a frozen copy of a driver. */
export function snapshotDriver(driver: ExecutionDriver): ExecutionDriver {
  const { capabilities, members } = driver;
  return bindMethods({
    ...bindMethods(driver),
    capabilities: Object.freeze({ ...capabilities, controls: Object.freeze([...capabilities.controls]) }),
    ...(members === undefined ? {} : { members: snapshotMembers(members) }),
  });
}

function snapshotMembers(members: Readonly<Record<string, TeamMember>>): Readonly<Record<string, TeamMember>> {
  const copies = Object.entries(members).map(([name, member]) => {
    return [name, Object.freeze({ ...member, driver: snapshotDriver(member.driver) })] as const;
  });
  return Object.freeze(Object.fromEntries(copies));
}

/** Returns a frozen copy of a tool. */
export function snapshotTool(tool: ToolDef): ToolDef {
  const { parameters } = tool;
  return bindMethods({
    ...bindMethods(tool),
    parameters: isStandardSchema(parameters) ? parameters : Object.freeze(structuredClone(parameters)),
  });
}

/** Returns a frozen copy of a role's binding. Fails with VALIDATION_ERROR where the role has no model. */
export function snapshotBinding(role: string, binding: ModelRoleBinding | undefined): ModelRoleBinding {
  const provider: ModelProvider | undefined = binding?.provider;
  if (binding === undefined || typeof provider?.generate !== "function") {
    throw invalid(`models.${role}`, "names no model; bind the role to a model provider");
  }
  const options = binding.options === undefined ? {} : { options: Object.freeze([...binding.options]) };
  return Object.freeze({ provider: bindMethods(provider), ...options });
}

/** Own and inherited keys, but for those of every object. */
function allKeys(value: object): ReadonlySet<string> {
  const keys = new Set<string>();
  for (
    let level: object | null = value;
    level !== null && level !== Object.prototype;
    level = Reflect.getPrototypeOf(level)
  ) {
    for (const key of Object.getOwnPropertyNames(level)) if (key !== "constructor") keys.add(key);
  }
  return keys;
}
