import type { Database } from "better-sqlite3";
import type { SideWrites } from "../../core/store.js";

/** Writes side rows within the commit that is being made. */
export class SideWriter {
  readonly #statements;

  constructor(db: Database) {
    this.#statements = {
      action: db.prepare(
        `INSERT INTO actions (execution, tenant_id, action_id, kind, state, provider_id, create_time_ms, action_key, bytes)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (execution, action_id) DO UPDATE SET kind = excluded.kind, state = excluded.state,
           provider_id = excluded.provider_id, create_time_ms = excluded.create_time_ms,
           action_key = excluded.action_key, bytes = excluded.bytes`,
      ),
      answer: db.prepare(
        `INSERT INTO answers (execution, action_id, delivered, expired, bytes) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (execution, action_id) DO UPDATE SET delivered = excluded.delivered,
           expired = excluded.expired, bytes = excluded.bytes`,
      ),
      input: db.prepare(
        `INSERT INTO inputs (execution, input_id, bytes) VALUES (?, ?, ?)
         ON CONFLICT (execution, input_id) DO UPDATE SET bytes = excluded.bytes`,
      ),
      artifact: db.prepare("INSERT INTO artifacts (execution, artifact_id, bytes) VALUES (?, ?, ?)"),
      hasArtifact: db
        .prepare<[number, string], number>("SELECT 1 FROM artifacts WHERE execution = ? AND artifact_id = ?")
        .pluck(),
      resumeState: db.prepare(
        "INSERT INTO resume_states (execution, bytes) VALUES (?, ?) ON CONFLICT (execution) DO UPDATE SET bytes = excluded.bytes",
      ),
    };
  }

  /** Returns the ID of an artifact that `side` would create a second time, if any. `execution` is undefined before it is created. */
  takenArtifact(execution: number | undefined, { artifacts = [] }: SideWrites): string | undefined {
    const ids = new Set<string>();
    for (const { artifactId } of artifacts) {
      const isStored = execution !== undefined && this.#statements.hasArtifact.get(execution, artifactId) === 1;
      if (isStored || ids.has(artifactId)) return artifactId;
      ids.add(artifactId);
    }
    return undefined;
  }

  write(execution: number, tenantId: string, side: SideWrites): void {
    const { action, answer, input, artifact, resumeState } = this.#statements;
    for (const row of side.actions ?? []) {
      action.run(
        execution,
        tenantId,
        row.actionId,
        row.kind,
        row.state,
        row.providerId,
        row.createTimeMs,
        row.actionKey,
        row.bytes,
      );
    }
    for (const row of side.answers ?? []) {
      answer.run(execution, row.actionId, Number(row.delivered), Number(row.expired), row.bytes);
    }
    for (const row of side.inputs ?? []) input.run(execution, row.inputId, row.bytes);
    for (const row of side.artifacts ?? []) artifact.run(execution, row.artifactId, row.bytes);
    if (side.resumeState !== undefined) resumeState.run(execution, side.resumeState);
  }
}
