import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

/** The layers, lowest first, each with what it may import besides gen. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  store: ["core"],
  engine: ["core", "store/memory"],
  providers: ["core", "engine"],
  client: [],
  provider: ["core"],
  server: ["core"],
  console: ["client"],
  cli: ["core", "store", "store/memory", "engine", "providers", "client", "provider", "server", "console"],
};
const TARGETS = [...Object.keys(LAYERS), "store/memory"];
/** Packages may have folders that are called as a layer is. */
const PACKAGE = "@modelcontextprotocol/sdk/client";

const repository = join(import.meta.dirname, "..");

describe("imports go down the list of layers, never up", () => {
  let folder: string;
  let refused: ReadonlyMap<string, readonly string[]>;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "harness-layers-"));
    cpSync(join(repository, "biome.json"), join(folder, "biome.json"));
    for (const layer of Object.keys(LAYERS)) {
      write(join(folder, "src", layer, "file.ts"), "..");
      write(join(folder, "src", layer, "inner", "file.ts"), "../..");
    }
    refused = lint(folder);
  });

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  test.each(Object.entries(LAYERS))("src/%s", (layer, allowed) => {
    const own = (target: string): boolean => target === layer || target.startsWith(`${layer}/`);
    const expected = TARGETS.filter((target) => !(own(target) || allowed.includes(target))).sort();
    expect(refused.get(`src/${layer}/file.ts`)?.toSorted() ?? []).toEqual(expected);
    expect(refused.get(`src/${layer}/inner/file.ts`)?.toSorted() ?? []).toEqual(expected);
  });
});

/** Writes a file that imports from every layer, from a package and from gen, one a line. */
function write(file: string, up: string): void {
  const paths = [...TARGETS.map((target) => `${up}/${target}`), PACKAGE, `${up}/../gen/ts`];
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, paths.map((path, i) => `import { x${i} } from "${path}/thing.js";\n`).join(""));
}

/** The layers whose imports Biome refuses, by file. */
function lint(folder: string): ReadonlyMap<string, readonly string[]> {
  const biome = join(repository, "node_modules/.bin/biome");
  const options = ["--only=style/noRestrictedImports", "--vcs-enabled=false", "--max-diagnostics=none"];
  const { stdout } = spawnSync(biome, ["lint", "--reporter=json", ...options], { cwd: folder, encoding: "utf8" });
  const report = JSON.parse(stdout) as { diagnostics: { location: { path: string; start: { line: number } } }[] };
  const refused = new Map<string, string[]>();
  for (const { location } of report.diagnostics) {
    const target = TARGETS[location.start.line - 1] ?? `line ${location.start.line}`;
    refused.set(location.path, [...(refused.get(location.path) ?? []), target]);
  }
  return refused;
}
