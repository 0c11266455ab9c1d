-- Each table keeps the order in which its rows were first written in its integer key.
CREATE TABLE actions (
  action INTEGER PRIMARY KEY,
  execution INTEGER NOT NULL,
  tenant_id TEXT NOT NULL,
  action_id TEXT NOT NULL,
  kind INTEGER NOT NULL,
  state INTEGER NOT NULL,
  provider_id TEXT NOT NULL,
  create_time_ms INTEGER NOT NULL,
  action_key TEXT NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (execution, action_id)
) STRICT;

CREATE INDEX actions_by_time ON actions (tenant_id, create_time_ms, action_id);
CREATE INDEX actions_by_state ON actions (tenant_id, state, create_time_ms, action_id);

CREATE TABLE answers (
  answer INTEGER PRIMARY KEY,
  execution INTEGER NOT NULL,
  action_id TEXT NOT NULL,
  delivered INTEGER NOT NULL,
  expired INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (execution, action_id)
) STRICT;

CREATE TABLE inputs (
  input INTEGER PRIMARY KEY,
  execution INTEGER NOT NULL,
  input_id TEXT NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (execution, input_id)
) STRICT;

CREATE TABLE artifacts (
  artifact INTEGER PRIMARY KEY,
  execution INTEGER NOT NULL,
  artifact_id TEXT NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (execution, artifact_id)
) STRICT;

CREATE INDEX artifacts_in_order ON artifacts (execution, artifact);

CREATE TABLE resume_states (
  execution INTEGER PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;
