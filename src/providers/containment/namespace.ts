import { spawn } from "node:child_process";
import { findCommand } from "./command.js";

/**
 * The start of a command line that runs a program in a PID namespace of its
 * own. A program that a signal ended is told as the exit code 128 and the
 * signal's number. When the program ends, or the process that started it, the kernel ends
 * everything in the namespace, whatever it did to hide.
 */
export type NamespaceWrapper = readonly string[];

/** The namespace's first process: it starts the program, reaps what is orphaned, and ends with the program. */
const INIT = ["/bin/sh", "-c", '"$@"; exit "$?"', "init"];
const PROBE_LIMIT_MS = 5_000;

/**
 * Finds out, by doing it once, whether this process may make PID namespaces.
 * With `userNamespace` it may take a user namespace for it, in which programs
 * such as sudo do not work. Undefined where it may not.
 */
export async function probeNamespace(userNamespace: boolean): Promise<NamespaceWrapper | undefined> {
  if (process.platform !== "linux") return undefined;
  const searchPath = process.env["PATH"] ?? "/usr/bin:/bin";
  const [setpriv, unshare, probe] = ["setpriv", "unshare", "true"].map((name) => findCommand(name, searchPath, "/"));
  if (setpriv === undefined || unshare === undefined || probe === undefined) return undefined;
  for (const user of userNamespace ? [[], ["--user", "--map-current-user"]] : [[]]) {
    const wrapper = [
      ...[setpriv, "--pdeathsig", "KILL"],
      ...[unshare, ...user, "--pid", "--fork", "--kill-child=KILL", "--mount-proc", "--"],
      ...INIT,
    ];
    if (await succeeds([...wrapper, probe])) return wrapper;
  }
  return undefined;
}

function succeeds([command = "", ...args]: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: "ignore", timeout: PROBE_LIMIT_MS, killSignal: "SIGKILL" });
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });
}
