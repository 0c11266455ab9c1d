import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { FileError } from "./file-errors.js";

/** One step of the schema. Steps are only ever added, never changed. */
export interface Migration {
  /** From 1, without a gap. */
  readonly number: number;
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of `sql`, in hexadecimal. */
  readonly checksum: string;
}

const FOLDER = new URL("./migrations/", import.meta.url);

/** Returns all steps, in order: the files `NNN-name.sql` of the folder `migrations`. */
export function loadMigrations(): readonly Migration[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".sql"));
  return names.sort().map((name, index) => {
    const sql = readFileSync(new URL(name, FOLDER), "utf8").replaceAll("\r\n", "\n");
    const number = Number(name.slice(0, 3));
    if (number !== index + 1) throw new Error(`migration ${name} should have the number ${index + 1}`);
    return { number, name: name.slice(4, -4), sql, checksum: createHash("sha256").update(sql).digest("hex") };
  });
}

/**
 * Brings the schema up to date, each step in a transaction of its own. Throws a
 * FileError, and changes nothing, where a newer or a different program made it.
 */
export function migrate(db: Database, file: string, migrations: readonly Migration[], nowMs: number): void {
  const applied = Number(db.pragma("user_version", { simple: true }));
  if (applied > migrations.length) {
    throw new FileError(
      "NEWER_SCHEMA",
      `${file} was written by a newer version (its schema is ${applied}, this version knows ${migrations.length}). ` +
        "Run that version or a later one, or restore a backup made before the upgrade",
    );
  }
  if (applied > 0) checkApplied(db, file, migrations.slice(0, applied));
  for (const migration of migrations.slice(applied)) apply(db, migration, nowMs);
}

function checkApplied(db: Database, file: string, expected: readonly Migration[]): void {
  const checksums = db.prepare<[], string>("SELECT checksum FROM schema_migrations ORDER BY number").pluck().all();
  for (const { number, name, checksum } of expected) {
    if (checksums[number - 1] === checksum) continue;
    throw new FileError(
      "OTHER_SCHEMA",
      `${file} has a schema of another make: its step ${number} (${name}) differs from this version's. ` +
        "Run the version that wrote it, or restore a backup",
    );
  }
}

function apply(db: Database, { number, name, sql, checksum }: Migration, nowMs: number): void {
  const step = db.transaction(() => {
    db.exec(sql);
    db.prepare("INSERT INTO schema_migrations (number, name, checksum, apply_time_ms) VALUES (?, ?, ?, ?)").run(
      number,
      name,
      checksum,
      nowMs,
    );
    db.pragma(`user_version = ${number}`);
  });
  step.immediate();
}
