import type { Database } from "better-sqlite3";
import type { ConversationRow, ExecutionKey, ExecutionRow, IdempotencyRecord, StartRecord } from "../../core/store.js";
import { ConversationWriter } from "./conversation-writer.js";
import { isFileFault, LostFileError, toFailure } from "./file-errors.js";
import { type Head, Heads } from "./heads.js";
import { LogWriter } from "./log-writer.js";
import type { AppendOperation, Operation, Outcome, Refusal } from "./messages.js";
import { Owners } from "./owners.js";
import { SideWriter } from "./side-writer.js";
import { Trimmer } from "./trimmer.js";

type Write = AppendOperation["write"];
type Claim = Operation & { readonly kind: "claim" };

/**
 * Applies operations in groups, a transaction each. An operation is judged
 * before anything of it is written, so one that is refused needs no undoing and
 * harms no other.
 */
export class Committer {
  readonly #db: Database;
  readonly #file: string;
  readonly #heads: Heads;
  readonly #owners = new Owners();
  readonly #log: LogWriter;
  readonly #side: SideWriter;
  readonly #conversations: ConversationWriter;
  readonly #trimmer: Trimmer;
  readonly #statements;
  /** Called for each execution that a commit wrote to. */
  readonly #onWritten: (head: Head) => void;

  constructor(db: Database, file: string, onWritten: (head: Head) => void) {
    this.#db = db;
    this.#file = file;
    this.#onWritten = onWritten;
    this.#heads = new Heads(db);
    this.#log = new LogWriter(db);
    this.#side = new SideWriter(db);
    this.#conversations = new ConversationWriter(db);
    this.#trimmer = new Trimmer(db);
    this.#statements = prepare(db);
  }

  /**
   * Applies `operations` in order and returns what each came to. Where the file
   * itself fails none is applied. Where one operation breaks the transaction in
   * a way that no check foresaw, each gets a transaction of its own. Throws a
   * LostFileError where another process writes to the file.
   */
  commit(operations: readonly Operation[]): readonly Outcome[] {
    try {
      return this.#transact(operations);
    } catch (error) {
      if (error instanceof LostFileError) throw error;
      if (operations.length > 1 && !isFileFault(error))
        return operations.flatMap((operation) => this.commit([operation]));
      const refusal: Refusal = { kind: "unavailable", ...toFailure(this.#file, error) };
      return operations.map(() => ({ refusal }));
    }
  }

  #transact(operations: readonly Operation[]): readonly Outcome[] {
    this.#statements.begin.run();
    try {
      const outcomes = operations.map((operation) => this.#apply(operation));
      this.#flush();
      this.#statements.commit.run();
      this.#owners.commit();
      for (const head of this.#log.end()) this.#onWritten(head);
      this.#heads.shrink();
      return outcomes;
    } catch (error) {
      this.#log.end();
      if (this.#db.inTransaction) this.#statements.rollback.run();
      this.#owners.rollBack();
      this.#trimmer.clear();
      this.#heads.clear();
      throw error;
    }
  }

  #apply(operation: Operation): Outcome {
    switch (operation.kind) {
      case "append":
        return asOutcome(this.#append(operation));
      case "conversation":
        return asOutcome(this.#createConversation(operation.conversation, operation.idempotency));
      case "claim":
        return { value: this.#claim(operation) };
      case "renew":
        return { value: this.#renew(operation.key, operation.fence, operation.leaseUntilMs) };
      case "release":
        return this.#release(operation.key, operation.fence);
      case "trim":
        this.#flush();
        return { value: this.#trimmer.trim(operation.trim) };
    }
  }

  /** Writes the events that were gathered. Each continues its log, so one that is there already is another process's. */
  #flush(): void {
    try {
      this.#log.flush();
    } catch (error) {
      if (!isTaken(error)) throw error;
      throw new LostFileError(
        "OTHER_WRITER",
        `${this.#file} was written by another process while the runtime used it; first see that no other server uses the data folder`,
        error,
      );
    }
  }

  #append(operation: AppendOperation): Refusal | undefined {
    const { write, terminal } = operation;
    const found = this.#heads.get(write.key);
    const refusal = this.#judge(write, found);
    if (refusal !== undefined) return refusal;
    const head = found ?? this.#create(write, terminal);
    this.#conversations.take(write.key.tenantId, write.idempotency);
    this.#log.add(head, operation);
    this.#trimmer.noteWritten(head);
    if (write.side !== undefined) this.#side.write(head.execution, write.key.tenantId, write.side);
    return undefined;
  }

  #judge(write: Write, found: Head | undefined): Refusal | undefined {
    const { key, fence, create, expected, side } = write;
    if (found !== undefined && fence !== undefined && !this.#isFence(found, fence)) return { kind: "fenced" };
    const taken = this.#judgeScope(key.tenantId, write.idempotency);
    if (taken !== undefined) return taken;
    const conflicts = create === undefined ? found?.lastSequence !== expected : found !== undefined;
    if (conflicts) return { kind: "conflict", headSequence: found?.lastSequence };
    const artifactId = side && this.#side.takenArtifact(found?.execution, side);
    if (artifactId !== undefined) return { kind: "exists", resource: "an artifact", id: artifactId };
    return this.#judgeConversation(create?.newConversation);
  }

  #create(write: Write, terminal: boolean): Head {
    const { key, create, row } = write;
    if (create === undefined || row === undefined) throw new RangeError("not a write that creates");
    const execution = this.#insertExecution(write, create, row, terminal);
    this.#statements.insertStart.run(execution, create.bytes);
    if (create.newConversation !== undefined) this.#conversations.insert(create.newConversation);
    for (const [name, value] of Object.entries(create.labels)) {
      this.#statements.insertExecutionLabel.run(
        key.tenantId,
        name,
        value,
        create.createTimeMs,
        key.executionId,
        execution,
      );
    }
    const log = { lastSequence: 0, joinedSequence: 0, looseChunks: 0 };
    const head: Head = { execution, ...log, fence: 0, terminal, endTimeMs: row.endTimeMs };
    this.#heads.add(key, head);
    return head;
  }

  #insertExecution(
    { key, updateTimeMs, lastSequence }: Write,
    create: StartRecord,
    row: ExecutionRow,
    terminal: boolean,
  ): number {
    const { lastInsertRowid } = this.#statements.insertExecution.run(
      key.tenantId,
      key.executionId,
      create.conversationId,
      create.providerId,
      create.parentExecutionId,
      create.rootExecutionId,
      create.createTimeMs,
      updateTimeMs,
      row.endTimeMs ?? null,
      row.state,
      Number(terminal),
      lastSequence,
    );
    return Number(lastInsertRowid);
  }

  #createConversation(row: ConversationRow, idempotency: IdempotencyRecord | undefined): Refusal | undefined {
    const refusal = this.#judgeScope(row.tenantId, idempotency) ?? this.#judgeConversation(row);
    if (refusal !== undefined) return refusal;
    this.#conversations.take(row.tenantId, idempotency);
    this.#conversations.insert(row);
    return undefined;
  }

  #judgeScope(tenantId: string, idempotency: IdempotencyRecord | undefined): Refusal | undefined {
    const existing = this.#conversations.taken(tenantId, idempotency);
    return existing && { kind: "taken", existing };
  }

  #judgeConversation(row: ConversationRow | undefined): Refusal | undefined {
    if (row === undefined || !this.#conversations.has(row)) return undefined;
    return { kind: "exists", resource: "a conversation", id: row.conversationId };
  }

  #claim({ key, owner, nowMs, leaseUntilMs }: Claim): number | undefined {
    const head = this.#heads.get(key);
    if (head === undefined) return undefined;
    const held = this.#owners.get(head.execution);
    if (held !== undefined && held.name !== owner && held.leaseUntilMs > nowMs) return undefined;
    this.#owners.set(head.execution, { name: owner, leaseUntilMs });
    head.fence++;
    this.#statements.setFence.run(head.fence, head.execution);
    return head.fence;
  }

  #renew(key: ExecutionKey, fence: number, leaseUntilMs: number): boolean {
    const head = this.#heads.get(key);
    const owner = head && this.#owners.get(head.execution);
    if (head === undefined || owner === undefined || head.fence !== fence) return false;
    this.#owners.set(head.execution, { name: owner.name, leaseUntilMs });
    return true;
  }

  #release(key: ExecutionKey, fence: number): undefined {
    const head = this.#heads.get(key);
    if (head !== undefined && this.#isFence(head, fence)) this.#owners.delete(head.execution);
  }

  #isFence({ execution, fence: current }: Head, fence: number): boolean {
    return current === fence && this.#owners.get(execution) !== undefined;
  }
}

function asOutcome(refusal: Refusal | undefined): Outcome {
  return refusal && { refusal };
}

function isTaken(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "SQLITE_CONSTRAINT_UNIQUE";
}

function prepare(db: Database) {
  return {
    begin: db.prepare("BEGIN IMMEDIATE"),
    commit: db.prepare("COMMIT"),
    rollback: db.prepare("ROLLBACK"),
    insertExecution: db.prepare(
      `INSERT INTO executions (tenant_id, execution_id, conversation_id, provider_id, parent_execution_id,
         root_execution_id, create_time_ms, update_time_ms, end_time_ms, state, terminal, last_sequence)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertStart: db.prepare("INSERT INTO execution_starts (execution, bytes) VALUES (?, ?)"),
    insertExecutionLabel: db.prepare(
      `INSERT INTO execution_labels (tenant_id, name, value, create_time_ms, execution_id, execution)
       VALUES (?, ?, ?, ?, ?, ?)`,
    ),
    setFence: db.prepare("UPDATE executions SET fence = ? WHERE execution = ?"),
  };
}
