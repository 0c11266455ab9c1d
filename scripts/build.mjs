// @ts-check
// usage: node scripts/build.mjs      builds dist/ from src/ and gen/ts/
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { removeAbandoned } from "../bin/node.mjs";

/** What dist is made from. */
const SOURCES = ["src", "gen/ts", "tsconfig.json", "tsconfig.build.json", "package.json"];
const COMPILED = [".ts", ".tsx"];
const STAMP = ".sources";

/** A number that changes whenever a file that dist is made from does. @param {string} root */
export function fingerprint(root) {
  const hash = createHash("sha256");
  for (const source of SOURCES) {
    for (const path of filesUnder(join(root, source))) {
      const content = readFileSync(path);
      hash.update(`${relative(root, path)}\0${content.length}\0`).update(content);
    }
  }
  return hash.digest("hex");
}

/** Builds dist unless it was made from the sources as they are. @param {string} root */
export function buildIfStale(root) {
  const wanted = fingerprint(root);
  if (builtFrom(join(root, "dist")) === wanted) return;
  process.stderr.write("harness: building dist\n");
  build(root, wanted);
}

/**
 * Builds in a folder of its own and then puts it in dist's place, so that builds beside each other, and programs that run
 * from dist, never see half of one. Throws an Error for the user.
 * @param {string} root
 * @param {string} wanted
 */
function build(root, wanted) {
  removeAbandoned(join(root, "dist"));
  const fresh = mkdtempSync(join(root, "dist.new-"));
  chmodSync(fresh, 0o755);
  try {
    compile(root, fresh);
    writeFileSync(join(fresh, STAMP), wanted);
    putInPlace(fresh, join(root, "dist"), wanted);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** @param {string} root @param {string} outDir */
function compile(root, outDir) {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  if (!existsSync(tsc))
    throw new Error("harness: cannot build without the development dependencies. Run npm ci first.");
  run(root, [tsc, "-p", join(root, "tsconfig.build.json"), "--outDir", outDir]);
  const page = join(root, "src", "console");
  for (const path of filesUnder(join(root, "src"))) {
    if (!COMPILED.includes(extname(path)) && !path.startsWith(page + sep))
      cpSync(path, join(outDir, relative(root, path)));
  }
  if (existsSync(page)) bundle(root, page, join(outDir, "console"));
}

/** Makes the console's files, each named after its content. @param {string} root @param {string} page @param {string} outDir */
function bundle(root, page, outDir) {
  const vite = join(root, "node_modules", "vite", "bin", "vite.js");
  const config = join(page, "vite.config.ts");
  run(root, [vite, "build", "--config", config, "--outDir", outDir, "--logLevel", "warn"]);
}

/** @param {string} root @param {readonly string[]} command */
function run(root, command) {
  const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error("harness: the build failed, see above.");
}

/**
 * Gives `fresh` the name `dist`. Where somebody else has built the same, theirs is kept.
 * @param {string} fresh
 * @param {string} dist
 * @param {string} wanted
 */
export function putInPlace(fresh, dist, wanted) {
  while (!renamed(fresh, dist, ["ENOTEMPTY", "EEXIST"])) {
    if (builtFrom(dist) === wanted) return;
    const old = mkdtempSync(`${dist}.old-`);
    renamed(dist, join(old, "dist"), ["ENOENT"]);
    rmSync(old, { recursive: true, force: true });
  }
}

/** Renames, or answers false where it failed in one of the ways that somebody else's renaming explains. @param {string} from @param {string} to @param {readonly string[]} explained */
function renamed(from, to, explained) {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!explained.includes(code)) throw error;
    return false;
  }
}

/** The fingerprint that `dist` was made from; undefined where there is no whole build. @param {string} dist */
function builtFrom(dist) {
  const stamp = join(dist, STAMP);
  return existsSync(stamp) ? readFileSync(stamp, "utf8") : undefined;
}

/** The files at or under `path`, in an order that does not change. @param {string} path @returns {string[]} */
function filesUnder(path) {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path).sort();
  return names.flatMap((name) => filesUnder(join(path, name)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  try {
    build(root, fingerprint(root));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}
