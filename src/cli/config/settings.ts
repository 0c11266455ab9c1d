import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { ConfigSchema } from "../../../gen/ts/harnessruntime/config/v1/config_pb.js";
import { isObject } from "./canonical.js";

/** One value of the configuration, and where it was set. */
export interface Setting {
  /** Its place, such as `["server", "port"]`. */
  readonly path: readonly string[];
  /** As ProtoJSON. */
  readonly value: JsonValue;
  /** `default`, a file and line, a variable, or a flag. */
  readonly where: string;
}

/** A place for a value: every key of the configuration that is no section, in the order of the contract. */
export interface Key {
  readonly path: readonly string[];
  readonly field: DescField;
  /** The environment variable that sets it; undefined for maps and lists of maps. */
  readonly variable: string | undefined;
}

/** Every key that there is. */
export const KEYS: readonly Key[] = keysOf(ConfigSchema, []);

/** Splits ProtoJSON of the configuration into settings; an entry of a map is one. */
export function toSettings(json: JsonObject, whereOf: (path: readonly string[]) => string): readonly Setting[] {
  return KEYS.flatMap(({ path, field }) => {
    const value = valueAt(json, path);
    if (value === undefined) return [];
    if (field.fieldKind !== "map" || !isObject(value)) return [{ path, value, where: whereOf(path) }];
    return Object.entries(value).map(([name, entry]) => {
      return { path: [...path, name], value: entry, where: whereOf([...path, name]) };
    });
  });
}

/** Puts settings together again; where a place is set more than once the last one counts. */
export function fromSettings(settings: readonly Setting[]): JsonObject {
  const json: JsonObject = {};
  for (const { path, value } of settings) {
    let section = json;
    for (const key of path.slice(0, -1)) {
      const inner = section[key];
      const next: JsonObject = isObject(inner) ? inner : {};
      section[key] = next;
      section = next;
    }
    section[path.at(-1) ?? ""] = value;
  }
  return json;
}

/** Returns a setting's value as a configuration file has it, on one line. */
export function toShown({ path, value }: Setting): string {
  const field = KEYS.find((key) => key.path.join() === path.join())?.field;
  if (typeof value !== "string") return JSON.stringify(value);
  if (field?.fieldKind !== "enum") return value;
  return value.slice(field.enum.sharedPrefix?.length ?? 0).toLowerCase();
}

function keysOf(schema: DescMessage, path: readonly string[]): readonly Key[] {
  return schema.fields.flatMap((field) => {
    const here = [...path, field.name];
    if (field.fieldKind === "message" && field.message.typeName !== DurationSchema.typeName) {
      return keysOf(field.message, here);
    }
    return [{ path: here, field, variable: isText(field) ? variableOf(here) : undefined }];
  });
}

function isText(field: DescField): boolean {
  return field.fieldKind !== "map" && !(field.fieldKind === "list" && field.listKind === "message");
}

function variableOf(path: readonly string[]): string {
  return `HARNESS_${path.join("_").toUpperCase()}`;
}

function valueAt(json: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = json;
  for (const key of path) value = isObject(value) ? value[key] : undefined;
  return value;
}
