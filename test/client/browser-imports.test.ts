import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");

/** Every module that the file loads, itself and through others: project files by path, packages by name. */
function loadedBy(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen;
  seen.add(path);
  const source = readFileSync(path, "utf8");
  for (const [, type, from = ""] of source.matchAll(/^(?:import|export)(\s+type)?\s[^;]*?from "([^"]+)";/gms)) {
    if (type !== undefined) continue;
    if (from.startsWith(".")) loadedBy(resolve(dirname(path), from.replace(/\.js$/, ".ts")), seen);
    else seen.add(from);
  }
  return seen;
}

test("what a browser loads needs nothing of Node", () => {
  const loaded = loadedBy(resolve(root, "src/client-browser.ts"));
  const packages = [...loaded].filter((name) => !name.startsWith("/"));
  expect(packages.sort()).toEqual([
    "@bufbuild/protobuf",
    "@bufbuild/protobuf/codegenv2",
    "@bufbuild/protobuf/wkt",
    "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js",
    "@connectrpc/connect",
    "@connectrpc/connect-web",
  ]);
});

test("both entries export the same, but for the options of their transports", () => {
  const names = (entry: string) =>
    [...readFileSync(resolve(root, entry), "utf8").matchAll(/\{([^}]*)\} from/g)]
      .flatMap(([, list = ""]) => list.split(",").map((name) => name.replace(/\btype\b/, "").trim()))
      .filter((name) => name !== "" && !name.endsWith("ClientOptions"))
      .sort();
  expect(names("src/client-browser.ts")).toEqual(names("src/client.ts"));
  expect(names("src/client.ts")).toContain("followEvents");
});
