import type { EventChunk } from "../../core/chunk.js";
import type {
  ActionQuery,
  Append,
  ConversationQuery,
  ConversationRow,
  ExecutionKey,
  ExecutionQuery,
  IdempotencyRecord,
  PageQuery,
} from "../../core/store.js";
import type { Position } from "../page.js";

/** How a store's file is opened; both threads get it as their `workerData`. */
export interface FileSettings {
  /** The database file's absolute path. */
  readonly file: string;
  readonly synchronous: "full" | "normal";
  /** The most bytes the file may take; undefined for no limit. */
  readonly maxBytes: number | undefined;
}

/** One change that the writer makes, in the order of the calls. All byte arrays of a batch lie in one transferred buffer. */
export type Operation =
  | {
      readonly kind: "append";
      readonly write: Omit<Append, "chunk">;
      /** The write's events, in the pieces under which they are stored. */
      readonly chunks: readonly EventChunk[];
      /** Whether the write's row, if any, is in a terminal state. */
      readonly terminal: boolean;
    }
  | {
      readonly kind: "conversation";
      readonly conversation: ConversationRow;
      readonly idempotency: IdempotencyRecord | undefined;
    }
  | {
      readonly kind: "claim";
      readonly key: ExecutionKey;
      readonly owner: string;
      readonly nowMs: number;
      readonly leaseUntilMs: number;
    }
  | { readonly kind: "renew"; readonly key: ExecutionKey; readonly fence: number; readonly leaseUntilMs: number }
  | { readonly kind: "release"; readonly key: ExecutionKey; readonly fence: number }
  | { readonly kind: "trim"; readonly trim: TrimStep };

/** The operation of a write to an execution. */
export type AppendOperation = Operation & { readonly kind: "append" };

/** A part of a trim: at most so many executions as fit in a short commit, from where the last one with these labels left off. */
export interface TrimStep {
  readonly endedBeforeMs: number;
  readonly labels: readonly (readonly [string, string])[];
}

/** What a {@link TrimStep} came to. */
export interface TrimResult {
  readonly trimmed: number;
  readonly isLast: boolean;
}

/** Why one operation was refused. */
export type Refusal =
  | { readonly kind: "conflict"; readonly headSequence: number | undefined }
  | { readonly kind: "exists"; readonly resource: string; readonly id: string }
  | { readonly kind: "fenced" }
  | { readonly kind: "taken"; readonly existing: IdempotencyRecord }
  | ({ readonly kind: "unavailable" } & FileFailure);

/** What one operation came to: undefined where it was done and has nothing to tell. */
export type Outcome =
  | { readonly refusal: Refusal; readonly value?: never }
  | { readonly value: unknown; readonly refusal?: never }
  | undefined;

/** Why the file could not be opened, read or written. */
export interface FileFailure {
  /** SQLite's or the system's code, such as SQLITE_FULL or EACCES, or one of this store's own, such as IN_USE. */
  readonly code: string;
  readonly message: string;
}

export type WriterRequest =
  | { readonly kind: "batch"; readonly batch: number; readonly operations: readonly Operation[] }
  /** The reader has written the log back into the file as far as it could. */
  | { readonly kind: "checkpointed" }
  | { readonly kind: "close" };

export type WriterReply =
  | { readonly kind: "opened" }
  | { readonly kind: "failed"; readonly failure: FileFailure }
  /** All batches up to `batch` are done; those operations that are not in `outcomes` came to undefined. */
  | { readonly kind: "committed"; readonly batch: number; readonly outcomes: readonly NumberedOutcome[] }
  /** The log has grown: the reader should write it back. */
  | { readonly kind: "checkpoint" }
  /** The file may be written no more: it is closed, and the thread ends. */
  | { readonly kind: "lost"; readonly failure: FileFailure }
  | { readonly kind: "closed" };

/** What the operation with this number, from 0 over all batches of the reply, came to. */
export type NumberedOutcome = readonly [number: number, outcome: Exclude<Outcome, undefined>];

/** A call that changes nothing, by the name of the port's method; page tokens are positions by now. */
export type Query =
  | { readonly method: "read"; readonly key: ExecutionKey; readonly after: number; readonly maxBytes: number }
  | { readonly method: "getExecution"; readonly key: ExecutionKey }
  | { readonly method: "listExecutions"; readonly query: ExecutionQuery; readonly position: Position | undefined }
  | { readonly method: "listUnfinished" }
  | { readonly method: "getAction"; readonly key: ExecutionKey; readonly id: string }
  | { readonly method: "listActions"; readonly query: ActionQuery; readonly position: Position | undefined }
  | { readonly method: "getAnswer"; readonly key: ExecutionKey; readonly id: string }
  | { readonly method: "getInput"; readonly key: ExecutionKey; readonly id: string }
  | { readonly method: "getSideRows"; readonly key: ExecutionKey }
  | { readonly method: "getArtifact"; readonly key: ExecutionKey; readonly id: string }
  | {
      readonly method: "listArtifacts";
      readonly key: ExecutionKey;
      readonly query: PageQuery;
      readonly position: Position | undefined;
    }
  | { readonly method: "getConversation"; readonly tenantId: string; readonly id: string }
  | { readonly method: "listConversations"; readonly query: ConversationQuery; readonly position: Position | undefined }
  | { readonly method: "findIdempotent"; readonly tenantId: string; readonly scope: string };

export type NumberedQuery = readonly [id: number, query: Query];
export type NumberedAnswer = readonly [
  id: number,
  answer: { readonly value: unknown } | { readonly failure: FileFailure },
];

/** The reader opens the file when it is told that the writer has. */
export type ReaderRequest =
  | { readonly kind: "open" }
  | { readonly kind: "queries"; readonly queries: readonly NumberedQuery[] }
  | { readonly kind: "checkpoint" }
  | { readonly kind: "close" };

export type ReaderReply =
  | { readonly kind: "opened" }
  | { readonly kind: "failed"; readonly failure: FileFailure }
  | { readonly kind: "answers"; readonly answers: readonly NumberedAnswer[] }
  | { readonly kind: "checkpointed" }
  | { readonly kind: "closed" };
