-- What was applied to this database, in order; `PRAGMA user_version` is the last number.
CREATE TABLE schema_migrations (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  apply_time_ms INTEGER NOT NULL
) STRICT;

-- One narrow row an execution, since every commit writes it. `execution` is the short key of all tables below.
CREATE TABLE executions (
  execution INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  execution_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  parent_execution_id TEXT NOT NULL,
  root_execution_id TEXT NOT NULL,
  create_time_ms INTEGER NOT NULL,
  update_time_ms INTEGER NOT NULL,
  end_time_ms INTEGER,
  state INTEGER NOT NULL,
  -- 1 in SUCCEEDED, FAILED and CANCELLED.
  terminal INTEGER NOT NULL,
  -- The lowest sequence still stored; chunks before it wait to be deleted.
  first_sequence INTEGER NOT NULL DEFAULT 1,
  last_sequence INTEGER NOT NULL,
  -- Chunks up to here have the size that they keep.
  joined_sequence INTEGER NOT NULL DEFAULT 0,
  -- The last fencing number given. The owner and its lease end with the process, so they are not stored.
  fence INTEGER NOT NULL DEFAULT 0,
  UNIQUE (tenant_id, execution_id)
) STRICT;

CREATE INDEX executions_by_time ON executions (tenant_id, create_time_ms, execution_id);
CREATE INDEX executions_by_state ON executions (tenant_id, state, create_time_ms, execution_id);
CREATE INDEX executions_by_conversation ON executions (tenant_id, conversation_id, create_time_ms, execution_id);
CREATE INDEX executions_by_root ON executions (tenant_id, root_execution_id, create_time_ms, execution_id);
CREATE INDEX executions_by_parent ON executions (tenant_id, parent_execution_id, create_time_ms, execution_id)
  WHERE parent_execution_id <> '';
CREATE INDEX executions_unfinished ON executions (create_time_ms, execution_id) WHERE terminal = 0;
CREATE INDEX executions_to_join ON executions (execution) WHERE terminal = 1 AND joined_sequence < last_sequence;
CREATE INDEX executions_to_trim ON executions (end_time_ms) WHERE terminal = 1 AND first_sequence <= last_sequence;

-- The immutable part, up to 1 MiB: apart, so that no update rewrites it.
CREATE TABLE execution_starts (
  execution INTEGER PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;

-- The mutable part.
CREATE TABLE execution_rows (
  execution INTEGER PRIMARY KEY,
  bytes BLOB NOT NULL,
  fold TEXT NOT NULL
) STRICT;

-- Ordered by time within a label, so that a page of a label is a range.
CREATE TABLE execution_labels (
  tenant_id TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  create_time_ms INTEGER NOT NULL,
  execution_id TEXT NOT NULL,
  execution INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, name, value, create_time_ms, execution_id)
) STRICT, WITHOUT ROWID;

-- Events, as the wire form of `repeated Event` = 1. A rowid table with this unique key appends twice as fast as one
-- WITHOUT ROWID, and reads as fast.
CREATE TABLE event_chunks (
  chunk INTEGER PRIMARY KEY,
  execution INTEGER NOT NULL,
  first_sequence INTEGER NOT NULL,
  last_sequence INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (execution, last_sequence)
) STRICT;

-- Executions whose dropped chunks are still to be deleted.
CREATE TABLE trimmed_executions (
  execution INTEGER PRIMARY KEY
) STRICT;
