import { create, fromBinary } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  ActionKind,
  type ActionRequest,
  ActionRequestSchema,
  ActionResponseSchema,
  ActionState,
} from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type { Execution } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import type { ProviderManifest } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { checkAction } from "./check-action.js";
import type { Clock } from "./clock.js";
import { decideOpenAction } from "./decide-action.js";
import { nextTurnInput } from "./decide-input.js";
import { nothing } from "./decision.js";
import { type Fold, openAction } from "./fold.js";
import type { Ids } from "./ids.js";
import { MAX_WAITING_ACTIONS } from "./limits.js";
import { durationToMs, MAX_TIME_MS } from "./preflight.js";
import type { ActionAnswer, ActionInit } from "./provider.js";
import type { AnswerRow, ExecutionKey, SideRows, Store } from "./store.js";
import { valueToJson } from "./value-text.js";
import { ProtocolViolationError } from "./violation.js";
import type { Writer } from "./writer.js";

interface Waiting {
  readonly key: string;
  readonly action: ActionRequest;
  /** Of each request with the key. */
  readonly onOpen: ActionInit["onOpen"][];
  readonly answer: Promise<ActionAnswer>;
  readonly resolve: (answer: ActionAnswer) => void;
  readonly reject: (error: unknown) => void;
  /** An attempt before asked for it, and it was closed before this one did: without an answer it is asked anew. */
  wasClosed: boolean;
  /** Whether its `action_required` was decided. */
  opened: boolean;
  /** Whether those who asked were told that it is open. */
  told: boolean;
  /** Whether its answer is being fetched. */
  closing: boolean;
}

/** What an action desk works on. */
export interface ActionDeskOptions {
  readonly store: Store;
  readonly key: ExecutionKey;
  readonly writer: Writer;
  readonly fence: number;
  readonly manifest: ProviderManifest;
  readonly clock: Clock;
  readonly ids: Ids;
}

/**
 * The actions that one provider's attempt asks for: one open at a time, the
 * others behind it. An answer is stored as delivered before the provider gets
 * it, so that it is handed over at most once.
 */
export class ActionDesk {
  readonly #options: ActionDeskOptions;
  /** Every action of the execution whose answer is known, by the provider's key. */
  readonly #answered = new Map<string, ActionAnswer>();
  /** The open action of an earlier attempt that this one has not asked for yet. */
  #inherited: { readonly key: string; readonly actionId: string } | undefined;
  readonly #queue: Waiting[] = [];
  #looksAgain = false;

  constructor(options: ActionDeskOptions, rows: SideRows | undefined) {
    this.#options = options;
    for (const row of rows?.actions ?? []) {
      const answer = rows?.answers.find(({ actionId }) => actionId === row.actionId);
      if (row.state === ActionState.PENDING) this.#inherited = { key: row.actionKey, actionId: row.actionId };
      else if (answer !== undefined) this.#answered.set(row.actionKey, toAnswer(row.actionKey, answer, row.bytes));
    }
  }

  /** Every answer so far, for a resumed attempt. */
  get answers(): readonly ActionAnswer[] {
    return [...this.#answered.values()];
  }

  /** Whether any request is open or waits. */
  get isBusy(): boolean {
    return this.#queue.length > 0;
  }

  /** Opens an action, or finds the one that was asked for with the same key before. */
  async request(init: ActionInit): Promise<ActionAnswer> {
    const { manifest, ids } = this.#options;
    const action = checkAction(init, manifest, ids.next("action"));
    const known = this.#answered.get(init.key);
    if (known !== undefined) return known.delivered ? known : this.#deliverKnown(known);
    const asked = this.#queue.find(({ key }) => key === init.key);
    if (asked !== undefined) return await this.#join(asked, init);
    if (this.#queue.length > MAX_WAITING_ACTIONS) {
      throw new ProtocolViolationError(`more than ${MAX_WAITING_ACTIONS} actions wait behind the open one`);
    }
    const { promise: answer, resolve, reject } = Promise.withResolvers<ActionAnswer>();
    const state = { wasClosed: false, opened: false, told: false, closing: false };
    const waiting: Waiting = { key: init.key, action, onOpen: [init.onOpen], answer, resolve, reject, ...state };
    if (this.#inherited?.key === init.key) this.#inherit(waiting, this.#inherited.actionId);
    else this.#queue.push(waiting);
    this.follow();
    return await answer;
  }

  /** Two requests with one key are one question. */
  #join(asked: Waiting, { onOpen }: ActionInit): Promise<ActionAnswer> {
    asked.onOpen.push(onOpen);
    if (asked.told) onOpen?.(asked.action.id);
    return asked.answer;
  }

  /** Waits for the action that an earlier attempt opened. */
  #inherit(waiting: Waiting, actionId: string): void {
    this.#inherited = undefined;
    waiting.action.id = actionId;
    waiting.opened = true;
    waiting.wasClosed = openAction(this.#options.writer.head)?.id !== actionId;
    this.#queue.unshift(waiting);
    if (!waiting.wasClosed) this.#tellOpened(waiting);
  }

  /** Looks at what is stored and goes on: hands over what was answered, opens what waits. */
  follow(): void {
    const first = this.#queue[0];
    if (first === undefined) return;
    const { committed, head } = this.#options.writer;
    if (!first.opened) {
      if (mayOpen(head)) this.#open(first);
      else if (mayOpen(committed)) this.#lookAgain();
      return;
    }
    const isOpen = openAction(committed)?.id === first.action.id;
    if (first.closing || isOpen || openAction(head)?.id === first.action.id) return;
    first.closing = true;
    this.#close(first).catch((error: unknown) => this.#drop(first, error));
  }

  /** What is decided and forbids that an action opens may be refused by the store: looks again when that is known. */
  #lookAgain(): void {
    if (this.#looksAgain) return;
    this.#looksAgain = true;
    const again = (): void => {
      this.#looksAgain = false;
      this.follow();
    };
    this.#options.writer.decide((fold) => nothing(fold, undefined)).then(again, again);
  }

  /** Rejects every request: the turn is over. */
  rejectAll(error: Error): void {
    for (const waiting of this.#queue.splice(0)) waiting.reject(error);
  }

  #open(waiting: Waiting): void {
    waiting.opened = true;
    const { writer, clock, fence } = this.#options;
    const opening = writer.decide((fold) => {
      if (!mayOpen(fold)) return nothing(fold, false);
      const nowMs = clock.now();
      stamp(waiting.action, fold.execution, nowMs);
      return { ...decideOpenAction(fold, waiting, nowMs), result: true };
    }, fence);
    opening.then(
      (opened) => {
        waiting.opened = opened;
        if (opened) this.#tellOpened(waiting);
        this.follow();
      },
      (error: unknown) => this.#drop(waiting, error),
    );
  }

  #tellOpened(waiting: Waiting): void {
    try {
      waiting.told = true;
      for (const onOpen of waiting.onOpen) onOpen?.(waiting.action.id);
    } catch (error) {
      this.#drop(waiting, error);
    }
  }

  /** The open action was closed: by an answer, by its timeout, or because it was abandoned. */
  async #close(waiting: Waiting): Promise<void> {
    const { store, key } = this.#options;
    const [row, bytes] = await Promise.all([
      store.getAnswer(key, waiting.action.id),
      store.getAction(key, waiting.action.id),
    ]);
    // Rejected meanwhile: nobody is there to hand it to.
    if (!this.#queue.includes(waiting)) return;
    if (row === undefined) {
      if (!waiting.wasClosed) throw new Error("the action was abandoned");
      this.#askAnew(waiting);
      return;
    }
    const answer = await this.#deliver(toAnswer(waiting.key, row, bytes), row);
    this.#remove(waiting);
    waiting.resolve(answer);
    this.follow();
  }

  /** The earlier attempt's action was abandoned, for a new input took its turn's place: nobody has answered it, or will. */
  #askAnew(waiting: Waiting): void {
    waiting.action.id = this.#options.ids.next("action");
    Object.assign(waiting, { wasClosed: false, opened: false, closing: false });
    this.follow();
  }

  async #deliverKnown(answer: ActionAnswer): Promise<ActionAnswer> {
    const { store, key } = this.#options;
    const row = await store.getAnswer(key, answer.actionId);
    if (row === undefined) throw new Error("the answer is gone");
    return await this.#deliver(answer, row);
  }

  /** Stores that the answer is handed over, then returns it to be handed over. */
  async #deliver(answer: ActionAnswer, row: AnswerRow): Promise<ActionAnswer> {
    const { writer, fence } = this.#options;
    const side = { answers: [{ ...row, delivered: true }] };
    await writer.decide((fold) => ({ fold, events: [], side, result: undefined }), fence);
    this.#answered.set(answer.key, { ...answer, delivered: true });
    return answer;
  }

  #drop(waiting: Waiting, error: unknown): void {
    this.#remove(waiting);
    waiting.reject(error);
    this.follow();
  }

  #remove(waiting: Waiting): void {
    const index = this.#queue.indexOf(waiting);
    if (index >= 0) this.#queue.splice(index, 1);
  }
}

/** Whether an action may open: not in a turn that a new input is about to take the place of. */
function mayOpen(fold: Fold): boolean {
  return fold.execution.state === ExecutionState.RUNNING && nextTurnInput(fold)?.mode !== InputMode.REPLACE;
}

/** Returns the action whose answer begins the next turn, as a provider's outcome asks for it. */
export function inputAction(id: string, request: Omit<ActionInit, "kind">): ActionRequest {
  return create(ActionRequestSchema, {
    id,
    kind: ActionKind.INPUT,
    state: ActionState.PENDING,
    title: request.title,
    description: request.description ?? "",
    providerRef: request.providerRef ?? "",
    ...(request.payload === undefined ? {} : { payload: request.payload }),
    ...(request.inputSchema === undefined ? {} : { inputSchema: request.inputSchema }),
  });
}

/** Sets what is known only when the action opens. */
export function stamp(action: ActionRequest, { id, actionPolicy }: Execution, nowMs: number): void {
  action.executionId = id;
  action.createTime = timestampFromMs(nowMs);
  const timeout = actionPolicy?.timeout;
  if (timeout === undefined) return;
  action.expireTime = timestampFromMs(Math.min(nowMs + durationToMs(timeout), MAX_TIME_MS));
}

/** When an open action expires, in milliseconds; undefined where it waits for ever. */
export function expireTimeMs(action: ActionRequest): number | undefined {
  return action.expireTime === undefined ? undefined : timestampMs(action.expireTime);
}

function toAnswer(key: string, row: AnswerRow, actionBytes: Uint8Array | undefined): ActionAnswer {
  const response = fromBinary(ActionResponseSchema, row.bytes);
  const action = actionBytes === undefined ? undefined : fromBinary(ActionRequestSchema, actionBytes);
  return {
    actionId: row.actionId,
    key,
    approved: response.approved ?? false,
    optionId: response.optionId,
    value: response.value === undefined ? undefined : valueToJson(response.value),
    metadata: response.metadata,
    responder: action?.responder,
    expired: row.expired,
    delivered: row.delivered,
  };
}
