import { readFileSync } from "node:fs";
import type { JsonValue } from "@bufbuild/protobuf";
import { isNode, LineCounter, parseDocument } from "yaml";
import { ConfigError } from "./config-error.js";

/** A configuration file as it was read. */
export interface YamlFile {
  readonly json: JsonValue;
  /** Says where a key is: `harness.yaml:3`, or the nearest section that there is. */
  whereOf(path: readonly string[]): string;
}

/** Reads a YAML file. Throws {@link ConfigError} where it is not there or is no YAML. */
export function readYamlFile(file: string): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(textOf(file), { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new ConfigError(`${file}:${line}:${col}: ${error.message}`);
  }
  return {
    json: (document.toJS() as JsonValue) ?? {},
    whereOf(path) {
      for (let length = path.length; length > 0; length--) {
        const node = document.getIn(path.slice(0, length).map(toIndex), true);
        if (isNode(node) && node.range) return `${file}:${lines.linePos(node.range[0]).line}`;
      }
      return file;
    },
  };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    const why = missing ? "there is no such file" : error instanceof Error ? error.message : String(error);
    throw new ConfigError(`${file}: ${why}; name another with --config, or leave it out`);
  }
}

/** An item of a list is found by its number. */
function toIndex(key: string): string | number {
  return /^\d+$/.test(key) ? Number(key) : key;
}
