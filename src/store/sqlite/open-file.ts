import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import Sqlite, { type Database } from "better-sqlite3";
import { FileError } from "./file-errors.js";
import type { FileSettings } from "./messages.js";
import { loadMigrations, migrate } from "./migrate.js";
import { rememberFiles } from "./same-files.js";

/** "HrnR": tells this program's databases from all others. */
const APPLICATION_ID = 0x48726e52;
/** A file up to this size is checked as a whole when it is opened; that takes some 10 ms. */
const CHECKED_BYTES = 16 * 1024 * 1024;
const BUSY_MS = 5000;
const CACHE_KIB = 16 * 1024;

/** An open file, and what keeps other processes out of it. */
export interface OpenFile {
  readonly db: Database;
  /** Throws a LostFileError where the database, its log or its lock is no longer the file that was opened. */
  checkThere(): void;
  /** Closes both. */
  close(): void;
}

/**
 * Opens the file for this process alone and brings its schema up to date. Makes
 * it, and its folder, where there is none; never in place of one that is
 * damaged, foreign, newer or gone while its log is still there: those throw.
 */
export function openFile(settings: FileSettings, nowMs: number): OpenFile {
  const { file } = settings;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const lock = takeLock(file);
  try {
    if (!existsSync(file)) createFile(file, nowMs);
    const db = openExisting(settings);
    const close = (): void => {
      db.close();
      lock.close();
    };
    try {
      migrate(db, file, loadMigrations(), nowMs);
      return { db, checkThere: rememberFiles(file), close };
    } catch (error) {
      db.close();
      throw error;
    }
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** Opens a second connection to a file that {@link openFile} holds, to read it and to write its log back. */
export function openBeside({ file, synchronous }: FileSettings): Database {
  const db = new Sqlite(file, { fileMustExist: true, timeout: BUSY_MS });
  setUp(db, synchronous);
  return db;
}

/**
 * Locks the file for as long as this process lives: a lock of the operating
 * system on a file beside it, held through SQLite, so that a killed process
 * leaves nothing behind.
 */
function takeLock(file: string): Database {
  keepLockFile(`${file}.lock`);
  const lock = new Sqlite(`${file}.lock`, { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    if (!(error instanceof Sqlite.SqliteError) || !error.code.startsWith("SQLITE_BUSY")) throw error;
    throw new FileError(
      "IN_USE",
      `${file} is in use by another process. Stop that one, or choose another data folder`,
      error,
    );
  }
}

/**
 * Sees to it that only its owner can open the lock's file: whoever can read one can keep others from locking it. One that
 * exists is never opened: a process that closes a file lets go of its own locks on it. Where this fails SQLite says why,
 * or the file is another user's.
 */
function keepLockFile(path: string): void {
  try {
    if (existsSync(path)) chmodSync(path, 0o600);
    else closeSync(openSync(path, "wx", 0o600));
  } catch {}
}

/** Makes the database under another name first, so that one that exists is always whole. */
function createFile(file: string, nowMs: number): void {
  if (existsSync(`${file}-wal`)) {
    throw new FileError(
      "MISSING",
      `${file} is missing, but its log ${file}-wal is there. Put the file back, or move the log away to begin anew`,
    );
  }
  const fresh = `${file}.new`;
  for (const suffix of ["", "-journal"]) rmSync(`${fresh}${suffix}`, { force: true });
  const db = new Sqlite(fresh);
  try {
    chmodSync(fresh, 0o600);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    migrate(db, file, loadMigrations(), nowMs);
  } finally {
    db.close();
  }
  renameSync(fresh, file);
  syncFolder(dirname(file));
}

/** Makes the names in a folder durable. */
function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function openExisting({ file, synchronous, maxBytes }: FileSettings): Database {
  // SQLite would open a file that it may not write, and fail at the first write.
  if (statSync(file).isFile()) closeSync(openSync(file, "r+"));
  const db = new Sqlite(file, { fileMustExist: true, timeout: BUSY_MS });
  try {
    if (db.pragma("application_id", { simple: true }) !== APPLICATION_ID) {
      throw new FileError("FOREIGN", `${file} is not a database of this program. Choose another data folder`);
    }
    setUp(db, synchronous);
    checkWhole(db, file);
    if (maxBytes !== undefined) db.pragma(`max_page_count = ${Math.ceil(maxBytes / pageBytes(db))}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function setUp(db: Database, synchronous: FileSettings["synchronous"]): void {
  db.pragma("journal_mode = WAL");
  db.pragma(`synchronous = ${synchronous}`);
  db.pragma("wal_autocheckpoint = 0");
  db.pragma(`cache_size = ${-CACHE_KIB}`);
  db.pragma("temp_store = MEMORY");
  db.pragma("foreign_keys = OFF");
}

/** Finds a file that was cut short, and any damage in a small one; the rest is found where it is read. */
function checkWhole(db: Database, file: string): void {
  const expectedBytes = Number(db.pragma("page_count", { simple: true })) * pageBytes(db);
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
  const isShort = (log?.size ?? 0) === 0 && statSync(file).size < expectedBytes;
  const found = isShort ? "it was cut short" : checkSmall(db, expectedBytes);
  if (found !== "ok") {
    throw new FileError(
      "SQLITE_CORRUPT",
      `${file} is damaged (${found}). Restore a backup, or move it away to begin anew`,
    );
  }
}

function checkSmall(db: Database, sizeBytes: number): string {
  return sizeBytes > CHECKED_BYTES ? "ok" : String(db.pragma("quick_check(1)", { simple: true }));
}

function pageBytes(db: Database): number {
  return Number(db.pragma("page_size", { simple: true }));
}
