import type { HarnessError } from "../../core/errors.js";
import { isTerminal } from "../../core/lifecycle.js";
import type {
  ActionQuery,
  AnswerRow,
  Append,
  ConversationQuery,
  ConversationRow,
  ExecutionKey,
  ExecutionQuery,
  IdempotencyRecord,
  InputRow,
  LogSlice,
  Page,
  PageQuery,
  SideRows,
  Store,
  StoredExecution,
} from "../../core/store.js";
import type { RawPage } from "../page.js";
import { type ListName, parsePageToken, toPage } from "../page-token.js";
import { checkAppend, storeClosed } from "../refusals.js";
import { storedChunks } from "../stored-chunks.js";
import type {
  Operation,
  Query,
  ReaderReply,
  ReaderRequest,
  TrimResult,
  WriterReply,
  WriterRequest,
} from "./messages.js";
import { ReadQueue } from "./read-queue.js";
import type { ThreadLink } from "./thread-link.js";
import { WriteQueue } from "./write-queue.js";

/** What a store is made of. */
export interface SqliteParts {
  readonly writer: ThreadLink<WriterRequest, WriterReply>;
  readonly reader: ThreadLink<ReaderRequest, ReaderReply>;
  readonly file: string;
  readonly commitWindowMs: number;
}

/** The calls of the port, translated into messages to the two threads. */
export class SqliteStore implements Store {
  readonly kind = "sqlite";
  readonly durable = true;
  readonly shared = false;
  readonly lost: Promise<HarnessError>;
  readonly #parts: SqliteParts;
  readonly #writes: WriteQueue;
  readonly #reads: ReadQueue;
  #closing: Promise<void> | undefined;

  constructor(parts: SqliteParts) {
    this.#parts = parts;
    this.lost = Promise.race([parts.writer.lost, parts.reader.lost]);
    const { writer, reader, file, commitWindowMs } = parts;
    this.#writes = new WriteQueue(writer, file, commitWindowMs, () => this.#reads.checkpoint());
    this.#reads = new ReadQueue(reader, file, () => writer.send({ kind: "checkpointed" }));
  }

  async append(write: Append): Promise<void> {
    checkAppend(write);
    const terminal = write.row !== undefined && isTerminal(write.row.state);
    const chunks = write.chunk === undefined ? [] : storedChunks(write.chunk);
    await this.#write({ kind: "append", write, chunks, terminal });
  }

  async read(key: ExecutionKey, after: number, maxBytes: number): Promise<LogSlice | undefined> {
    return this.#read<LogSlice | undefined>({ method: "read", key, after, maxBytes });
  }

  async getExecution(key: ExecutionKey): Promise<StoredExecution | undefined> {
    return this.#read<StoredExecution | undefined>({ method: "getExecution", key });
  }

  async listExecutions(query: ExecutionQuery): Promise<Page<StoredExecution>> {
    const position = parsePageToken("executions", query.pageToken);
    return this.#readPage("executions", { method: "listExecutions", query, position });
  }

  async listUnfinished(): Promise<readonly StoredExecution[]> {
    return this.#read<readonly StoredExecution[]>({ method: "listUnfinished" });
  }

  async getAction(key: ExecutionKey, id: string): Promise<Uint8Array | undefined> {
    return this.#read<Uint8Array | undefined>({ method: "getAction", key, id });
  }

  async listActions(query: ActionQuery): Promise<Page<Uint8Array>> {
    const position = parsePageToken("actions", query.pageToken);
    return this.#readPage("actions", { method: "listActions", query, position });
  }

  async getAnswer(key: ExecutionKey, id: string): Promise<AnswerRow | undefined> {
    return this.#read<AnswerRow | undefined>({ method: "getAnswer", key, id });
  }

  async getInput(key: ExecutionKey, id: string): Promise<InputRow | undefined> {
    return this.#read<InputRow | undefined>({ method: "getInput", key, id });
  }

  async getSideRows(key: ExecutionKey): Promise<SideRows> {
    return this.#read<SideRows>({ method: "getSideRows", key });
  }

  async getArtifact(key: ExecutionKey, id: string): Promise<Uint8Array | undefined> {
    return this.#read<Uint8Array | undefined>({ method: "getArtifact", key, id });
  }

  async listArtifacts(key: ExecutionKey, query: PageQuery): Promise<Page<Uint8Array>> {
    const position = parsePageToken("artifacts", query.pageToken);
    return this.#readPage("artifacts", { method: "listArtifacts", key, query, position });
  }

  async createConversation(conversation: ConversationRow, idempotency?: IdempotencyRecord): Promise<void> {
    await this.#write({ kind: "conversation", conversation, idempotency });
  }

  async getConversation(tenantId: string, id: string): Promise<Uint8Array | undefined> {
    return this.#read<Uint8Array | undefined>({ method: "getConversation", tenantId, id });
  }

  async listConversations(query: ConversationQuery): Promise<Page<Uint8Array>> {
    const position = parsePageToken("conversations", query.pageToken);
    return this.#readPage("conversations", { method: "listConversations", query, position });
  }

  async findIdempotent(tenantId: string, scope: string): Promise<IdempotencyRecord | undefined> {
    return this.#read<IdempotencyRecord | undefined>({ method: "findIdempotent", tenantId, scope });
  }

  async claim(key: ExecutionKey, owner: string, nowMs: number, leaseUntilMs: number): Promise<number | undefined> {
    return this.#write<number | undefined>({ kind: "claim", key, owner, nowMs, leaseUntilMs });
  }

  async renew(key: ExecutionKey, fence: number, leaseUntilMs: number): Promise<boolean> {
    return this.#write<boolean>({ kind: "renew", key, fence, leaseUntilMs });
  }

  async release(key: ExecutionKey, fence: number): Promise<void> {
    await this.#write({ kind: "release", key, fence });
  }

  async trim(endedBeforeMs: number, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    const trim = { endedBeforeMs, labels: Object.entries(labels) };
    for (let trimmed = 0; ; ) {
      const step = await this.#write<TrimResult>({ kind: "trim", trim });
      trimmed += step.trimmed;
      if (step.isLast) return trimmed;
    }
  }

  /** Has nothing to tell: no other process may have the file open. */
  onHint(): () => void {
    return () => {};
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { reader, writer } = this.#parts;
    await Promise.all([this.#reads.idle(), this.#writes.idle()]);
    // The reader first: the last to close writes the log back whole.
    await reader.close({ kind: "close" });
    await writer.close({ kind: "close" });
  }

  async #write<T>(operation: Operation): Promise<T> {
    if (this.#closing !== undefined) throw storeClosed(this.kind);
    return (await this.#writes.submit(operation)) as T;
  }

  async #read<T>(query: Query): Promise<T> {
    if (this.#closing !== undefined) throw storeClosed(this.kind);
    return (await this.#reads.ask(query)) as T;
  }

  async #readPage<T>(list: ListName, query: Query): Promise<Page<T>> {
    return toPage(list, await this.#read<RawPage<T>>(query));
  }
}
