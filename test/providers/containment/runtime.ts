// A process that stands for a runtime: holds a tree with the given shell command in it and lives until it is killed.
import { openContainment } from "../../../src/providers/containment/containment.js";

const [dataDir = "", mode = "auto", script = ""] = process.argv.slice(2);
const log = { debug() {}, info() {}, warn() {}, error() {} };
const containment = await openContainment({ dataDir, mode: mode as "auto", log });
const started = await containment
  .createTree("exe_test")
  .spawn({ command: "/bin/sh", args: ["-c", script], cwd: "/", env: { PATH: process.env["PATH"] ?? "" } });
process.stdout.write(`${started.pid}\n`);
setInterval(() => {}, 60_000);
