CREATE TABLE conversations (
  conversation INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  create_time_ms INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (tenant_id, conversation_id)
) STRICT;

CREATE INDEX conversations_by_time ON conversations (tenant_id, create_time_ms, conversation_id);

CREATE TABLE conversation_labels (
  tenant_id TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  create_time_ms INTEGER NOT NULL,
  conversation_id TEXT NOT NULL,
  conversation INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, name, value, create_time_ms, conversation_id)
) STRICT, WITHOUT ROWID;

-- Idempotency keys, with what limits them.
CREATE TABLE idempotency_records (
  tenant_id TEXT NOT NULL,
  scope TEXT NOT NULL,
  digest TEXT NOT NULL,
  resource_id TEXT NOT NULL,
  PRIMARY KEY (tenant_id, scope)
) STRICT, WITHOUT ROWID;
