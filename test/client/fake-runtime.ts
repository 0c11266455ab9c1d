import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, createRouterTransport, type Transport } from "@connectrpc/connect";
import { type ActionRequest, ActionRequestSchema, ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { ActionService } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { type Event, EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { type WatchEventsResponse, WatchEventsResponseSchema } from "../../gen/ts/harnessruntime/v1/event_stream_pb.js";
import { type Execution, ExecutionSchema, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { isTerminal } from "../../src/client/cursor.js";
import { fakeAttach } from "./fake-attach.js";
import type { Payload } from "./logs.js";
import { refuse } from "./refuse.js";

/** One execution and its log. */
export interface FakeExecution {
  readonly execution: Execution;
  readonly events: Event[];
}

/**
 * A runtime of one process and no provider: a test appends the events. It keeps
 * the contract's rules on sequences, cursors, keys and actions, and fails calls
 * and streams as the test says.
 */
export class FakeRuntime {
  readonly executions = new Map<string, FakeExecution>();
  /** The names of the methods that were called, in order. */
  readonly calls: string[] = [];
  /** The headers of the last call. */
  headers = new Headers();
  /** Thrown, one each, by the next calls of a method: before it did anything, or after it did everything. */
  readonly faults: { readonly method: string; readonly when: "before" | "after"; readonly error: ConnectError }[] = [];
  /** How many frames each of the next streams sends before it is cut. */
  readonly cuts: number[] = [];
  readonly #keys = new Map<string, string>();
  #changed = Promise.withResolvers<void>();

  transport(): Transport {
    return createRouterTransport((router) => this.routes(router));
  }

  start(): FakeExecution {
    const id = `exe_${this.executions.size + 1}`;
    const entry: FakeExecution = { execution: create(ExecutionSchema, { id, turn: 1, attempt: 1 }), events: [] };
    this.executions.set(id, entry);
    this.append(id, [{ case: "runQueued", value: { providerId: "fake" } }], ExecutionState.QUEUED);
    return entry;
  }

  /** Appends events; the execution is in `state` afterwards. */
  append(executionId: string, payloads: readonly Payload[], state = ExecutionState.RUNNING): void {
    const { execution, events } = this.find(executionId);
    for (const payload of payloads) {
      events.push(create(EventSchema, { executionId, sequence: events.length + 1, attempt: 1, turn: 1, payload }));
    }
    execution.state = state;
    execution.lastSequence = events.length;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  say(executionId: string, ...texts: readonly string[]): void {
    this.append(
      executionId,
      texts.map((text) => ({ case: "outputTextDelta", value: { text } })),
    );
  }

  succeed(executionId: string): void {
    this.append(executionId, [{ case: "runCompleted", value: { finalOutput: "" } }], ExecutionState.SUCCEEDED);
  }

  ask(executionId: string, actionId: string): void {
    const action = create(ActionRequestSchema, { id: actionId, executionId, state: ActionState.PENDING });
    this.find(executionId).execution.openActions.push(action);
    this.append(executionId, [{ case: "actionRequired", value: { action } }], ExecutionState.AWAITING_APPROVAL);
  }

  find(executionId: string): FakeExecution {
    const entry = this.executions.get(executionId);
    if (entry === undefined) throw refuse(Code.NotFound, "NOT_FOUND", { resource: "execution", id: executionId });
    return entry;
  }

  routes(router: ConnectRouter): void {
    router.service(ExecutionService, {
      startExecution: (request, { requestHeader }) =>
        this.#call("startExecution", requestHeader, () => ({
          execution: this.once(request.idempotencyKey, () => this.start().execution.id),
        })),
      getExecution: ({ executionId }, { requestHeader }) =>
        this.#call("getExecution", requestHeader, () => ({ execution: this.find(executionId).execution })),
      waitExecution: ({ executionId }, { requestHeader }) =>
        this.#call("waitExecution", requestHeader, () => ({ execution: this.find(executionId).execution })),
      cancelExecution: ({ executionId, reason }, { requestHeader }) =>
        this.#call("cancelExecution", requestHeader, () => ({ execution: this.cancel(executionId, reason) })),
      sendInput: ({ executionId, idempotencyKey }, { requestHeader }) =>
        this.#call("sendInput", requestHeader, () => this.send(executionId, idempotencyKey)),
      watchEvents: ({ executionId, afterSequence }, { signal }) => this.watch(executionId, afterSequence, signal),
      attachExecution: (requests, { signal }) => fakeAttach(this, requests, signal),
    });
    router.service(ActionService, {
      respondAction: ({ executionId, actionId, response }, { requestHeader }) =>
        this.#call("respondAction", requestHeader, () => ({
          action: this.#respond(executionId, actionId, response?.approved),
        })),
      getAction: ({ executionId, actionId }, { requestHeader }) =>
        this.#call("getAction", requestHeader, () => ({ action: this.#action(executionId, actionId) })),
    });
  }

  #call<T>(method: string, headers: Headers, run: () => T): T {
    this.calls.push(method);
    this.headers = headers;
    const fault = this.faults.find((candidate) => candidate.method === method);
    if (fault !== undefined) this.faults.splice(this.faults.indexOf(fault), 1);
    if (fault?.when === "before") throw fault.error;
    const result = run();
    if (fault !== undefined) throw fault.error;
    return result;
  }

  once(key: string | undefined, run: () => string): Execution {
    const id = (key === undefined ? undefined : this.#keys.get(key)) ?? run();
    if (key !== undefined) this.#keys.set(key, id);
    return this.find(id).execution;
  }

  send(executionId: string, key: string | undefined) {
    const { execution, events } = this.find(executionId);
    const known = key === undefined ? undefined : this.#keys.get(key);
    if (known !== undefined) return { inputId: known, sequence: events.length, execution };
    if (isTerminal(execution.state)) throw refuse(Code.FailedPrecondition, "INVALID_STATE", { state: "" });
    const inputId = `inp_${events.length}`;
    if (key !== undefined) this.#keys.set(key, inputId);
    this.append(executionId, [{ case: "inputAccepted", value: { inputId } }], execution.state);
    return { inputId, sequence: events.length, execution };
  }

  cancel(executionId: string, reason: string): Execution {
    const { execution } = this.find(executionId);
    if (!isTerminal(execution.state) && execution.state !== ExecutionState.CANCELLING) {
      this.append(executionId, [{ case: "runCancelling", value: { reason } }], ExecutionState.CANCELLING);
      this.append(executionId, [{ case: "runCancelled", value: { reason } }], ExecutionState.CANCELLED);
    }
    return execution;
  }

  #action(executionId: string, actionId: string): ActionRequest {
    const action = this.find(executionId).execution.openActions.find(({ id }) => id === actionId);
    if (action === undefined) throw refuse(Code.NotFound, "ACTION_NOT_FOUND");
    return action;
  }

  #respond(executionId: string, actionId: string, approved: boolean | undefined): ActionRequest {
    const action = this.#action(executionId, actionId);
    if (action.state === ActionState.ABANDONED) throw refuse(Code.FailedPrecondition, "ACTION_CLOSED");
    if (action.state === ActionState.RESPONDED) {
      const metadata = { responder: "u", respond_time: "", approved: String(action.approved), option_id: "" };
      throw refuse(Code.FailedPrecondition, "ACTION_ALREADY_RESOLVED", metadata);
    }
    action.state = ActionState.RESPONDED;
    if (approved !== undefined) action.approved = approved;
    this.append(executionId, [{ case: "actionResponded", value: { actionId } }]);
    return action;
  }

  async *watch(executionId: string, after: number, signal: AbortSignal): AsyncGenerator<WatchEventsResponse, void> {
    const { execution, events } = this.find(executionId);
    if (after > events.length) {
      throw refuse(Code.OutOfRange, "CURSOR_AHEAD", { head_sequence: String(events.length) });
    }
    let left = this.cuts.shift() ?? Number.POSITIVE_INFINITY;
    for (let shown = after; ; ) {
      if (left-- === 0) throw new ConnectError("cut", Code.Internal);
      const frame = create(WatchEventsResponseSchema, {
        events: events.slice(shown),
        nextAfterSequence: events.length,
        headSequence: events.length,
        state: execution.state,
      });
      shown = events.length;
      yield frame;
      if (isTerminal(frame.state)) return;
      while (shown === events.length) await this.#change(signal);
    }
  }

  /** Resolves when anything was appended; rejects when the signal is aborted. */
  async #change(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      void this.#changed.promise.then(resolve);
    });
  }
}
