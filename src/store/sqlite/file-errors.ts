import type { FileFailure } from "./messages.js";

/** A file that cannot be used, with SQLite's or this store's own code and the way out. */
export class FileError extends Error {
  override readonly name = "FileError";
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** A file that is no longer this process's alone, or no longer where it was: nothing more may be written to it. */
export class LostFileError extends FileError {}

/** What each of SQLite's codes (without what follows a second underscore) means for whoever runs the store. */
const MEANINGS: Readonly<Record<string, string>> = {
  SQLITE_FULL: "cannot grow: its disk, or the size that it is allowed, is full. Free space, or raise the limit",
  SQLITE_IOERR: "cannot be read or written: its disk reports an error. Check the disk and its free space",
  SQLITE_CORRUPT: "is damaged. Restore a backup, or move it away to begin anew",
  SQLITE_NOTADB: "is not a SQLite database. Restore a backup, or move it away to begin anew",
  SQLITE_READONLY: "cannot be written. Give this user the right to write it and its folder",
  SQLITE_CANTOPEN: "cannot be opened. Give this user the right to read and write it and its folder",
  SQLITE_PERM: "cannot be opened. Give this user the right to read and write it and its folder",
  SQLITE_BUSY: "is locked by another program. Close what else has it open",
  SQLITE_LOCKED: "is locked by another program. Close what else has it open",
  EACCES: "cannot be opened. Give this user the right to read and write it and its folder",
  EPERM: "cannot be opened. Give this user the right to read and write it and its folder",
  EROFS: "is on a disk that cannot be written. Choose another data folder",
  ENOTDIR: "cannot be opened: a part of its path is not a folder. Choose another data folder",
  ENOSPC: "cannot grow: its disk is full. Free space",
};

/** Tells why `file` failed, whatever was thrown. */
export function toFailure(file: string, error: unknown): FileFailure {
  if (error instanceof FileError) return { code: error.code, message: error.message };
  const code = codeOf(error);
  const meaning = MEANINGS[code] ?? MEANINGS[code.split("_").slice(0, 2).join("_")];
  const detail = error instanceof Error ? error.message : String(error);
  return { code, message: `${file} ${meaning ?? "cannot be used"} (${code}: ${detail})` };
}

/** Returns whether the whole file is at fault, and not what was written to it. */
export function isFileFault(error: unknown): boolean {
  const code = codeOf(error);
  return error instanceof FileError || Object.hasOwn(MEANINGS, code.split("_").slice(0, 2).join("_"));
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "INTERNAL";
}
