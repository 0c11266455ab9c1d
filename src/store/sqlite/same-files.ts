import { statSync } from "node:fs";
import { LostFileError } from "./file-errors.js";

/** A store's files by what follows the database's name, and the way out where one is another or gone. */
const FILES = {
  "": "first put the data folder back, or restore a backup",
  "-wal": "first put the data folder back, or restore a backup",
  ".lock": "first see that no other server uses the data folder",
} as const;

/**
 * Remembers which files are at the paths of an open database. The function that it returns throws a LostFileError once
 * a path leads to another file or to none: SQLite does not look, and would go on writing where nobody finds it.
 */
export function rememberFiles(file: string): () => void {
  const remembered = Object.entries(FILES)
    .map(([suffix, wayOut]) => ({ path: `${file}${suffix}`, wayOut, id: fileId(`${file}${suffix}`) }))
    .filter(({ id }) => id !== undefined);
  return () => {
    for (const { path, wayOut, id } of remembered) {
      if (!isSame(path, id)) {
        throw new LostFileError("REPLACED", `${path} was removed or replaced while the runtime used it; ${wayOut}`);
      }
    }
  };
}

/** A look that fails (EIO, say) tells nothing: the next one will. */
function isSame(path: string, id: string | undefined): boolean {
  try {
    return fileId(path) === id;
  } catch {
    return true;
  }
}

/** What tells a file from all others, whatever its name; undefined where there is none. */
function fileId(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
