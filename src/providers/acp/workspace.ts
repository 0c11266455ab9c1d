import { statSync } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { RequestError } from "@agentclientprotocol/sdk";

/** The folder that an agent works in; the protocol's own file and terminal calls end at its edge. */
export interface Workspace {
  /** Absolute, links resolved. */
  readonly root: string;
  /**
   * Returns where `path` leads to, links resolved, also if nothing is there yet.
   * Throws the protocol's "invalid params" where that is not in the folder.
   */
  resolve(path: string): Promise<string>;
}

/** Opens the workspace at `root`, which must exist. */
export async function openWorkspace(path: string): Promise<Workspace> {
  const root = await realpath(path);
  return {
    root,
    async resolve(wanted) {
      const target = await follow(resolve(root, wanted));
      if (target === undefined || !contains(root, target)) {
        throw RequestError.invalidParams({ path: wanted }, `only what is in ${root} can be reached, not ${wanted}`);
      }
      return target;
    },
  };
}

/** Whether there is a folder at `path`. */
export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Whether `path` is `folder` or in it; both absolute, links resolved. */
export function contains(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (!isAbsolute(way) && way !== ".." && !way.startsWith(`..${sep}`));
}

/** Resolves the links of as much of `path` as there is. Undefined where a link leads to nothing. */
async function follow(path: string): Promise<string | undefined> {
  const found = await realpath(path).catch(() => undefined);
  if (found !== undefined) return found;
  const isThere = await lstat(path).then(
    () => true,
    () => false,
  );
  if (isThere || dirname(path) === path) return undefined;
  const parent = await follow(dirname(path));
  return parent === undefined ? undefined : join(parent, basename(path));
}
