import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";

/**
 * Returns the absolute path of an executable, as a shell would find it: a name
 * with a slash is a path relative to `cwd`, any other is looked up in
 * `searchPath` (the form of PATH). Undefined where there is none.
 */
export function findCommand(command: string, searchPath: string, cwd: string): string | undefined {
  if (isAbsolute(command) || command.includes("/")) {
    const path = resolve(cwd, command);
    return isExecutable(path) ? path : undefined;
  }
  return searchPath
    .split(delimiter)
    .map((folder) => join(resolve(cwd, folder), command))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
