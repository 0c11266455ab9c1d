// @ts-check
// usage: npm run check [-- --no-tests]
// Everything that can be said of a change within a minute. Each check that fails says what to run; the others still run.
import { spawnSync } from "node:child_process";

/** @typedef {{ readonly name: string, readonly command: readonly string[], readonly hint: string }} Check */

/** @type {readonly Check[]} */
const CHECKS = [
  {
    name: "format and lint",
    command: ["biome", "check", "--error-on-warnings", "."],
    hint: "npm run fix mends what it can",
  },
  { name: "types", command: ["tsc", "-p", "tsconfig.json"], hint: "mend the types above" },
  { name: "unused code", command: ["knip"], hint: "remove it, or name it in knip.json with the reason" },
];

/** @type {readonly Check[]} */
const CONTRACT = [
  { name: "contract lint", command: ["buf", "lint"], hint: "mend proto/ as said above" },
  {
    name: "contract format",
    command: ["buf", "format", "-d", "--exit-code", "proto"],
    hint: "npx buf format -w proto",
  },
  {
    name: "contract compatibility",
    command: ["buf", "breaking", "proto", "--against", "proto/baseline.binpb"],
    hint: "keep the old name or number; callers depend on it",
  },
];

/** @type {readonly Check[]} */
const TESTS = [
  { name: "unit tests", command: ["vitest", "run", "--project", "unit"], hint: "npm test -- FILE runs one alone" },
];

/** @param {Check} check */
function passes({ name, command: [program = "", ...args], hint }) {
  const start = Date.now();
  const { status, error } = spawnSync(program, args, { stdio: ["ignore", "inherit", "inherit"] });
  const seconds = ((Date.now() - start) / 1000).toFixed(1);
  const missing = error ? `${program} cannot be run: npm ci` : hint;
  console.log(status === 0 ? `check: ${name} (${seconds} s)` : `check: ${name} FAILED: ${missing}`);
  return status === 0;
}

const tests = process.argv.includes("--no-tests") ? [] : TESTS;
const failed = [...CHECKS, ...CONTRACT, ...tests].filter((check) => !passes(check));
process.exitCode = failed.length === 0 ? 0 : 1;
