// @ts-check
// usage: npm run generate [-- [--check] [ts] [docs] [go] [python]]
// Makes gen/ and docs/reference/ from proto/. With --check it changes nothing, and fails where they differ from what it
// would make. Names of languages leave the others out. Needs no network once the tools of each language are there.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

/** @typedef {"ts" | "docs" | "go" | "python"} Language */

/** The folders that each language owns: what else lies beside them is written by hand. @type {Record<Language, string>} */
const FOLDERS = {
  ts: "gen/ts",
  docs: "docs/reference",
  go: "gen/go/harnessruntime",
  python: "gen/python/src/harnessruntime",
};
const LANGUAGES = /** @type {Language[]} */ (Object.keys(FOLDERS));
const GO_MINOR = 26;
const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** A cause that the user can mend: printed as one line. */
class UserError extends Error {}

/** @param {readonly string[]} args */
function main(args) {
  const check = args.includes("--check");
  const named = args.filter((arg) => arg !== "--check");
  const unknown = named.find((name) => !LANGUAGES.some((language) => language === name));
  if (unknown) throw new UserError(`unknown language ${unknown}: name some of ${LANGUAGES.join(", ")}`);
  const languages = LANGUAGES.filter((language) => named.length === 0 || named.includes(language));
  const fresh = mkdtempSync(join(tmpdir(), "harness-generate-"));
  try {
    generate(languages, fresh);
    if (check) compare(languages, fresh);
    else replace(languages, fresh);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** @param {readonly Language[]} languages @param {string} out */
function generate(languages, out) {
  if (languages.includes("go")) mustHaveGo();
  const bins = [join(root, "node_modules", ".bin"), ...(languages.includes("python") ? [pythonBin()] : [])];
  const env = { ...process.env, PATH: [...bins, process.env["PATH"]].join(delimiter) };
  for (const path of ["buf.gen.yaml", "buf.gen.vendor.yaml"]) {
    const template = templateOf(path, languages);
    if (template) run("buf", ["generate", "--template", template, "-o", out], env);
  }
  if (languages.includes("python")) finishPython(join(out, FOLDERS.python));
}

/** The template's plugins for these languages, or undefined where there are none. @param {string} path @param {readonly Language[]} languages */
function templateOf(path, languages) {
  /** @type {{ plugins: { out: string }[] }} */
  const template = parse(readFileSync(join(root, path), "utf8"));
  const wanted = template.plugins.filter(({ out }) =>
    languages.some((language) => `${FOLDERS[language]}/`.startsWith(`${out}/`)),
  );
  return wanted.length === 0 ? undefined : JSON.stringify({ ...template, plugins: wanted });
}

/** Makes packages of the folders, says that they are typed, and drops the stubs of files without a service. @param {string} folder */
function finishPython(folder) {
  const stubs = filesUnder(folder).filter((name) => /_pb2_grpc\.pyi?$/.test(name) && !name.includes("_service_pb2"));
  for (const name of stubs) rmSync(join(folder, name));
  const folders = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const path of [folder, ...folders.map((entry) => join(entry.parentPath, entry.name))]) {
    writeFileSync(join(path, "__init__.py"), "");
  }
  writeFileSync(join(folder, "py.typed"), "");
}

/** @param {readonly Language[]} languages @param {string} fresh */
function replace(languages, fresh) {
  for (const folder of languages.map((language) => FOLDERS[language])) {
    rmSync(join(root, folder), { recursive: true, force: true });
    mkdirSync(dirname(join(root, folder)), { recursive: true });
    cpSync(join(fresh, folder), join(root, folder), { recursive: true });
  }
}

/** @param {readonly Language[]} languages @param {string} fresh */
function compare(languages, fresh) {
  const stale = languages.flatMap((language) => differences(FOLDERS[language], fresh));
  if (stale.length === 0) return;
  const more = stale.length === 1 ? "" : ` (and ${stale.length - 1} more)`;
  throw new UserError(`${stale[0]} is not what proto/ makes${more}: run npm run generate and commit the result`);
}

/** @param {string} folder @param {string} fresh */
function differences(folder, fresh) {
  const names = new Set([...filesUnder(join(root, folder)), ...filesUnder(join(fresh, folder))]);
  return [...names]
    .sort()
    .map((name) => join(folder, name))
    .filter((path) => contentOf(join(root, path)) !== contentOf(join(fresh, path)));
}

/** @param {string} folder */
function filesUnder(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes("__pycache__"))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/** @param {string} path */
function contentOf(path) {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

function mustHaveGo() {
  const { stdout } = spawnSync("go", ["-C", "tools", "env", "GOVERSION"], { cwd: root, encoding: "utf8" });
  const minor = Number(/^go1\.(\d+)/.exec(stdout ?? "")?.[1] ?? 0);
  if (minor < GO_MINOR) throw new UserError(`Go 1.${GO_MINOR} or newer is needed: install it, or name other languages`);
}

/** The programs of a Python environment with the pinned plugins, made at the first use and kept in the cache. */
function pythonBin() {
  const requirements = join(root, "tools", "requirements.txt");
  const version = createHash("sha256").update(readFileSync(requirements)).digest("hex").slice(0, 16);
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const home = join(cache, "harness-runtime", `python-plugins-${version}`);
  if (!existsSync(join(home, "ready"))) {
    rmSync(home, { recursive: true, force: true });
    const hint =
      "Python 3.10 or newer with venv, and its package index, are needed once: install it, or name other languages";
    run("python3", ["-m", "venv", home], process.env, hint);
    run(join(home, "bin", "pip"), ["install", "--quiet", "--no-deps", "-r", requirements], process.env, hint);
    writeFileSync(join(home, "ready"), "");
  }
  return join(home, "bin");
}

/** @param {string} program @param {readonly string[]} args @param {NodeJS.ProcessEnv} env @param {string} [hint] */
function run(program, args, env, hint = "see above") {
  const { status, error } = spawnSync(program, args, { cwd: root, env, stdio: ["ignore", "inherit", "inherit"] });
  if (error && program === "buf") throw new UserError("buf cannot be run: npm ci");
  if (status !== 0) throw new UserError(`${program} failed: ${hint}`);
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    main(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    process.stderr.write(`generate: ${error.message}\n`);
    process.exitCode = 1;
  }
}
