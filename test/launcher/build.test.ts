import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildIfStale, fingerprint, putInPlace } from "../../scripts/build.mjs";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "harness-build-"));
  write("package.json", '{ "type": "module" }');
  write("tsconfig.build.json", '{ "compilerOptions": { "rootDir": ".", "types": [] }, "include": ["src"] }');
  write("src/core/one.ts", "export const one: number = 1;\n");
  write("src/store/001-events.sql", "CREATE TABLE events (id TEXT);\n");
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

function write(path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

function linkCompiler(): void {
  symlinkSync(join(import.meta.dirname, "../../node_modules"), join(root, "node_modules"));
}

describe("whether dist is stale", () => {
  test.each([
    ["a source is edited", () => write("src/core/one.ts", "export const one: number = 2;\n")],
    ["a source is added", () => write("src/core/two.ts", "")],
    [
      "a source is renamed",
      () => {
        rmSync(join(root, "src/core/one.ts"));
        write("src/core/uno.ts", "export const one: number = 1;\n");
      },
    ],
    ["generated code changes", () => write("gen/ts/a_pb.ts", "export {};\n")],
    ["the package's version changes", () => write("package.json", '{ "version": "1.0.0" }')],
  ])("it is when %s", (_, change) => {
    const before = fingerprint(root);
    change();
    expect(fingerprint(root)).not.toBe(before);
  });

  test("it is not when a file is only written again, or a test changes", () => {
    const before = fingerprint(root);
    write("src/core/one.ts", "export const one: number = 1;\n");
    write("test/one.test.ts", "");
    expect(fingerprint(root)).toBe(before);
  });
});

describe("a build", () => {
  test("compiles the sources, brings what is not compiled, and leaves nothing else behind", () => {
    linkCompiler();
    buildIfStale(root);
    expect(readFileSync(join(root, "dist/src/core/one.js"), "utf8")).toContain("export const one = 1;");
    expect(existsSync(join(root, "dist/src/store/001-events.sql"))).toBe(true);
    expect(readdirSync(root).filter((name) => name.startsWith("dist"))).toEqual(["dist"]);
  });

  test("is not made again while the sources stay, and replaces the old one when they change", () => {
    linkCompiler();
    buildIfStale(root);
    write("dist/mark", "");
    buildIfStale(root);
    expect(existsSync(join(root, "dist/mark"))).toBe(true);
    write("src/core/one.ts", "export const one: number = 2;\n");
    buildIfStale(root);
    expect(existsSync(join(root, "dist/mark"))).toBe(false);
    expect(readFileSync(join(root, "dist/src/core/one.js"), "utf8")).toContain("one = 2");
  });

  test("that fails keeps the dist there was", () => {
    linkCompiler();
    buildIfStale(root);
    write("src/core/one.ts", 'export const one: number = "1";\n');
    expect(() => buildIfStale(root)).toThrow("harness: the build failed, see above.");
    expect(existsSync(join(root, "dist/src/core/one.js"))).toBe(true);
  });

  test("without the compiler says what to run", () => {
    expect(() => buildIfStale(root)).toThrow("Run npm ci first.");
    expect(existsSync(join(root, "dist"))).toBe(false);
  });
});

describe("builds beside each other", () => {
  test("of the same sources the first one stays", () => {
    write("dist/.sources", "same");
    write("dist/mark", "first");
    write("dist.new-2/.sources", "same");
    putInPlace(join(root, "dist.new-2"), join(root, "dist"), "same");
    expect(readFileSync(join(root, "dist/mark"), "utf8")).toBe("first");
  });

  test("of other sources the last one stays, whole", () => {
    write("dist/.sources", "older");
    write("dist/mark", "first");
    write("dist.new-2/.sources", "newer");
    putInPlace(join(root, "dist.new-2"), join(root, "dist"), "newer");
    expect(readdirSync(join(root, "dist"))).toEqual([".sources"]);
  });
});
