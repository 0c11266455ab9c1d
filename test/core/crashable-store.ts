import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError } from "../../src/core/errors.js";
import type { Append, Store } from "../../src/core/store.js";

/** What a test does to a write before it reaches the store: let it pass, refuse it, or hold it. */
export type Tamper = (write: Append) => "pass" | "refuse" | Promise<void>;

/** A store that a test can cut off, as a kill would, or whose writes it can refuse or hold. */
export class CrashableStore implements Store {
  readonly #inner: Store;
  #crashed = false;
  tamper: Tamper = () => "pass";

  constructor(inner: Store) {
    this.#inner = inner;
  }

  /** From now on nothing reaches the store, and nothing is answered: calls never settle. */
  crash(): void {
    this.#crashed = true;
  }

  get kind() {
    return this.#inner.kind;
  }
  get durable() {
    return this.#inner.durable;
  }
  get shared() {
    return this.#inner.shared;
  }

  async append(write: Append): Promise<void> {
    const verdict = this.tamper(write);
    if (verdict === "refuse") throw new HarnessError(ErrorReason.STORE_UNAVAILABLE, "the disk is full");
    if (verdict !== "pass") await verdict;
    await this.#pass(() => this.#inner.append(write));
  }

  async #pass<T>(call: () => T | Promise<T>): Promise<T> {
    if (this.#crashed) return await new Promise<never>(() => undefined);
    const value = await call();
    return this.#crashed ? await new Promise<never>(() => undefined) : value;
  }

  read: Store["read"] = (...args) => this.#pass(() => this.#inner.read(...args));
  getExecution: Store["getExecution"] = (...args) => this.#pass(() => this.#inner.getExecution(...args));
  listExecutions: Store["listExecutions"] = (...args) => this.#pass(() => this.#inner.listExecutions(...args));
  listUnfinished: Store["listUnfinished"] = () => this.#pass(() => this.#inner.listUnfinished());
  getAction: Store["getAction"] = (...args) => this.#pass(() => this.#inner.getAction(...args));
  listActions: Store["listActions"] = (...args) => this.#pass(() => this.#inner.listActions(...args));
  getAnswer: Store["getAnswer"] = (...args) => this.#pass(() => this.#inner.getAnswer(...args));
  getInput: Store["getInput"] = (...args) => this.#pass(() => this.#inner.getInput(...args));
  getSideRows: Store["getSideRows"] = (...args) => this.#pass(() => this.#inner.getSideRows(...args));
  getArtifact: Store["getArtifact"] = (...args) => this.#pass(() => this.#inner.getArtifact(...args));
  listArtifacts: Store["listArtifacts"] = (...args) => this.#pass(() => this.#inner.listArtifacts(...args));
  createConversation: Store["createConversation"] = (...args) =>
    this.#pass(() => this.#inner.createConversation(...args));
  getConversation: Store["getConversation"] = (...args) => this.#pass(() => this.#inner.getConversation(...args));
  listConversations: Store["listConversations"] = (...args) => this.#pass(() => this.#inner.listConversations(...args));
  findIdempotent: Store["findIdempotent"] = (...args) => this.#pass(() => this.#inner.findIdempotent(...args));
  claim: Store["claim"] = (...args) => this.#pass(() => this.#inner.claim(...args));
  renew: Store["renew"] = (...args) => this.#pass(() => this.#inner.renew(...args));
  release: Store["release"] = (...args) => this.#pass(() => this.#inner.release(...args));
  trim: Store["trim"] = (...args) => this.#pass(() => this.#inner.trim(...args));
  onHint: Store["onHint"] = (listener) => this.#inner.onHint(listener);
  close: Store["close"] = () => Promise.resolve();
}
