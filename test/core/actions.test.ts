import { create, fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { ActionKind, ActionOptionKind, ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import {
  RespondActionRequestSchema,
  WatchActionsRequestSchema,
} from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { ErrorReason, FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ActionTimeoutPolicy } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import type { ActionAnswer, ActionInit, ProviderContext } from "../../src/core/provider.js";
import { settle } from "./fake-clock.js";
import { aborted, CALLER, type Kit, manifest, only, openKit, provider } from "./kit.js";

const { APPROVAL, INPUT } = ActionKind;
const value = (json: string | number | object) => fromJson(ValueSchema, json as never);

/** A provider that asks for one thing after the other and remembers what it was given. */
function asking(...requests: readonly ActionInit[]) {
  const answers: ActionAnswer[] = [];
  const asks = provider(async (context) => {
    for (const request of requests) answers.push(await context.requestAction(request));
  });
  return { asks, answers };
}

const approval: ActionInit = {
  key: "k1",
  kind: APPROVAL,
  title: "Run ls?",
  description: "in the workspace",
  payload: { command: "ls" },
  options: [
    { id: "once", label: "Once", kind: ActionOptionKind.ALLOW_ONCE },
    { id: "always", label: "Always", kind: ActionOptionKind.ALLOW_ALWAYS },
    { id: "no", label: "No", kind: ActionOptionKind.REJECT_ONCE },
    { id: "other", label: "Other" },
  ],
  providerRef: "native-7",
};
const input: ActionInit = { key: "k2", kind: INPUT, title: "How many?", inputSchema: { type: "integer", minimum: 1 } };

describe("actions", () => {
  test.each([
    [approval, ExecutionState.AWAITING_APPROVAL],
    [input, ExecutionState.AWAITING_INPUT],
  ])(
    "A01 a request of kind $kind waits in its state, whole in its event, GetExecution and lists",
    async (request, state) => {
      const kit = await openKit({ providers: [asking(request).asks] });
      const { id } = await kit.start();
      const action = await kit.action(id);
      expect(action).toMatchObject({
        executionId: id,
        kind: request.kind,
        state: ActionState.PENDING,
        title: request.title,
        description: request.description ?? "",
        providerRef: request.providerRef ?? "",
      });
      expect(action.payload).toEqual(request.payload);
      expect(action.options.map((option) => option.id)).toEqual((request.options ?? []).map((option) => option.id));
      expect(await kit.get(id)).toMatchObject({ state, openActions: [action] });
      expect(await kit.actions()).toEqual([action]);
      expect(await kit.runtime.getAction(CALLER, id, action.id)).toEqual(action);
      await kit.cancel(id, "", true);
    },
  );

  test("A02 an accepted answer: RUNNING, action_responded, and the provider gets the full answer once", async () => {
    const { asks, answers } = asking(approval, input);
    const kit = await openKit({ providers: [asks] });
    const { id } = await kit.start();
    const first = await kit.action(id);
    const answered = await kit.respond(first, { optionId: "always", metadata: { note: "fine" } });
    expect(answered.execution.state).toBe(ExecutionState.RUNNING);
    expect(answered.action).toMatchObject({ state: ActionState.RESPONDED, approved: true, optionId: "always" });
    await kit.respond(await kit.action(id, 1), { value: value(3) });
    await kit.over(id);
    expect(answers).toMatchObject([
      { key: "k1", approved: true, optionId: "always", metadata: { note: "fine" }, expired: false, delivered: false },
      { key: "k2", value: 3, expired: false, delivered: false },
    ]);
    const responded = (await kit.events(id)).filter(({ payload }) => payload.case === "actionResponded");
    expect(responded).toHaveLength(2);
    expect(responded[1]?.payload.value).not.toHaveProperty("value");
  });

  test("A02 the event carries the value only where the runtime is told to record values", async () => {
    const kit = await openKit({ providers: [asking(input).asks], recordActionValues: true });
    const { id } = await kit.start();
    await kit.respond(await kit.action(id), { value: value(3) });
    await kit.over(id);
    expect(only(await kit.events(id), "actionResponded").value).toEqual(value(3));
  });

  test("A02 of 100 concurrent answers one is accepted, the rest are typed, and the work is done once", async () => {
    const { asks, answers } = asking(approval);
    const kit = await openKit({ providers: [asks] });
    const { id } = await kit.start();
    const action = await kit.action(id);
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, (_, index) => kit.respond(action, { approved: index % 2 === 0 })),
    );
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const result of results) {
      if (result.status === "rejected") {
        expect(result.reason).toMatchObject({ reason: ErrorReason.ACTION_ALREADY_RESOLVED });
      }
    }
    await kit.over(id);
    expect(answers).toHaveLength(1);
  });

  test.each([
    ["nothing", approval, {}],
    ["a value for an approval", approval, { value: value("yes") }],
    ["an option that is not one", approval, { optionId: "maybe" }],
    ["an option that contradicts", approval, { optionId: "no", approved: true }],
    ["an option of no kind alone", approval, { optionId: "other" }],
    ["an approval for an input", input, { approved: true }],
    ["no value for an input", input, {}],
    ["a value that breaks the schema", input, { value: value("three") }],
    ["an answer of 1 MB", input, { metadata: { blob: "x".repeat(1_000_000) }, value: value(1) }],
  ])("A03 %s is VALIDATION_ERROR, and the action is still open", async (_, request, response) => {
    const kit = await openKit({ providers: [asking(request).asks] });
    const { id } = await kit.start();
    const action = await kit.action(id);
    await expect(kit.respond(action, response)).rejects.toMatchObject({ reason: ErrorReason.VALIDATION_ERROR });
    expect(await kit.actions()).toEqual([action]);
    await kit.respond(action, request === input ? { value: value(1) } : { approved: false });
    expect((await kit.over(id)).state).toBe(ExecutionState.SUCCEEDED);
  });

  test.each([true, false])("A03 with an option of no kind `approved` decides: %s", async (approved) => {
    const { asks, answers } = asking(approval);
    const kit = await openKit({ providers: [asks] });
    const { id } = await kit.start();
    const action = await kit.action(id);
    await expect(kit.respond(action, { optionId: "other" })).rejects.toThrow(/set `approved` too/);
    const answered = await kit.respond(action, { optionId: "other", approved });
    expect(answered.action).toMatchObject({ state: ActionState.RESPONDED, approved, optionId: "other" });
    await kit.over(id);
    expect(answers).toMatchObject([{ approved, optionId: "other" }]);
  });

  test("A04 a second answer says who, when and what, also after the end and after a restart", async () => {
    const kit = await openKit({ providers: [asking(approval).asks] });
    const { id } = await kit.start();
    const action = await kit.action(id);
    await kit.respond(action, { optionId: "once" }, { tenantId: "local", userId: "ann" });
    const resolved = {
      reason: ErrorReason.ACTION_ALREADY_RESOLVED,
      metadata: {
        responder: "ann",
        respond_time: new Date(kit.clock.now()).toISOString(),
        approved: "true",
        option_id: "once",
      },
    };
    await expect(kit.respond(action, { approved: false })).rejects.toMatchObject(resolved);
    await kit.over(id);
    await expect(kit.respond(action, { approved: false })).rejects.toMatchObject(resolved);
    await kit.crash();
    await expect(kit.respond(action, { approved: false })).rejects.toMatchObject(resolved);
  });

  test("A04 an action under another execution's id is ACTION_NOT_FOUND", async () => {
    const kit = await openKit({ providers: [asking(approval).asks] });
    const [first, second] = [await kit.start(), await kit.start()];
    const action = await kit.action(first.id);
    await kit.action(second.id);
    const wrong = create(RespondActionRequestSchema, {
      executionId: second.id,
      actionId: action.id,
      response: { approved: true },
    });
    await expect(kit.runtime.respondAction(CALLER, wrong)).rejects.toMatchObject({
      reason: ErrorReason.ACTION_NOT_FOUND,
    });
    for (const { id } of [first, second]) await kit.cancel(id, "", true);
  });

  test("A05 an action that was abandoned by a cancel is ACTION_CLOSED", async () => {
    const kit = await openKit({ providers: [asking(approval).asks] });
    const { id } = await kit.start();
    const action = await kit.action(id);
    await kit.cancel(id, "no", true);
    await expect(kit.respond(action, { approved: true })).rejects.toMatchObject({ reason: ErrorReason.ACTION_CLOSED });
    expect(only(await kit.events(id), "actionAbandoned")).toMatchObject({ actionId: action.id });
  });

  test("A05 an action that was abandoned by a failure is closed in the same write as run_failed", async () => {
    const kit = await openKit({ providers: [asking(approval).asks] });
    const { id } = await kit.start({ timeout: { seconds: 1n, nanos: 0 } });
    const action = await kit.action(id);
    await kit.fake.advance(1_000);
    const over = await kit.over(id);
    expect(over.error?.reason).toBe(FailureReason.DEADLINE_EXCEEDED);
    expect((await kit.names(id)).slice(-2)).toEqual(["action.abandoned", "run.failed"]);
    await expect(kit.respond(action, { approved: true })).rejects.toMatchObject({ reason: ErrorReason.ACTION_CLOSED });
  });

  const timeout = { seconds: 5n, nanos: 0 };

  test.each([
    [approval, { approved: false, expired: true }],
    [input, { value: undefined, expired: true }],
  ])("A05 an expiry with DENY (also when unset) goes on, with the answer of nobody", async (request, expected) => {
    const { asks, answers } = asking(request);
    const kit = await openKit({ providers: [asks] });
    const { id } = await kit.start({ actionPolicy: { timeout } });
    const action = await kit.action(id);
    expect(action.expireTime?.seconds).toBe((action.createTime?.seconds ?? 0n) + 5n);
    await kit.fake.advance(4_999);
    expect(answers).toHaveLength(0);
    await kit.fake.advance(1);
    expect((await kit.over(id)).state).toBe(ExecutionState.SUCCEEDED);
    expect(answers).toMatchObject([expected]);
    expect(await kit.names(id)).toContain("action.expired");
    await expect(kit.respond(action, { approved: true })).rejects.toMatchObject({ reason: ErrorReason.ACTION_CLOSED });
  });

  test("A05 an expiry with FAIL ends FAILED with ACTION_TIMEOUT, with CANCEL ends CANCELLED", async () => {
    const kit = await openKit({ providers: [asking(approval).asks] });
    for (const [onTimeout, expected] of [
      [ActionTimeoutPolicy.FAIL, { state: ExecutionState.FAILED, error: { reason: FailureReason.ACTION_TIMEOUT } }],
      [ActionTimeoutPolicy.CANCEL, { state: ExecutionState.CANCELLED, cancel: { reason: "action_timeout" } }],
    ] as const) {
      const { id } = await kit.start({ actionPolicy: { timeout, onTimeout } });
      await kit.action(id);
      await kit.fake.advance(5_000);
      expect(await kit.over(id)).toMatchObject(expected);
      expect(await kit.names(id)).toContain("action.expired");
    }
  });

  test("A06 a second request opens only after the first is closed, first in first out", async () => {
    const asked: Promise<ActionAnswer>[] = [];
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          for (const key of ["a", "b", "c"]) asked.push(context.requestAction({ key, kind: APPROVAL, title: key }));
          await Promise.all(asked);
        }),
      ],
    });
    const { id } = await kit.start();
    for (const [index, title] of ["a", "b", "c"].entries()) {
      const action = await kit.action(id, index);
      expect(action.title).toBe(title);
      expect(await kit.actions(id)).toHaveLength(1);
      await kit.respond(action, { approved: true });
    }
    expect((await kit.over(id)).state).toBe(ExecutionState.SUCCEEDED);
  });

  test("A06 returning with one open or waiting is FAILED; a cancel rejects all", async () => {
    const rejections: string[] = [];
    const forget = (context: ProviderContext, count: number): void => {
      for (let key = 0; key < count; key++) {
        context
          .requestAction({ key: String(key), kind: APPROVAL, title: "?" })
          .catch((error: Error) => rejections.push(error.message));
      }
    };
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          forget(context, 3);
          if (context.input.text === "wait") await aborted(context.signal);
        }),
      ],
    });
    const returned = await kit.over((await kit.start()).id);
    expect(returned.error?.reason).toBe(FailureReason.PROVIDER_PROTOCOL_VIOLATION);
    const { id } = await kit.start({ input: { text: "wait" } });
    await kit.action(id);
    await kit.cancel(id, "", true);
    await settle();
    expect(rejections).toHaveLength(6);
  });

  test("A06 the 66th request at once is a violation", async () => {
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          for (let key = 0; key < 66; key++) {
            void context.requestAction({ key: String(key), kind: APPROVAL, title: "?" }).catch(() => undefined);
          }
          await aborted(context.signal);
        }),
      ],
    });
    const over = await kit.over((await kit.start()).id);
    expect(over.error?.reason).toBe(FailureReason.PROVIDER_PROTOCOL_VIOLATION);
  });

  test("A06 two requests with one key are one action, and both get its answer", async () => {
    const opened: string[] = [];
    const answers: ActionAnswer[] = [];
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          const request: ActionInit = { ...approval, onOpen: (actionId) => opened.push(actionId) };
          const first = context.requestAction(request);
          const second = context.requestAction(request);
          await settle();
          answers.push(...(await Promise.all([first, second, context.requestAction(request)])));
        }),
      ],
    });
    const { id } = await kit.start();
    const action = await kit.action(id);
    await settle();
    await kit.respond(action, { approved: true });
    expect((await kit.over(id)).state).toBe(ExecutionState.SUCCEEDED);
    expect(answers.map(({ actionId, approved }) => [actionId, approved])).toEqual(Array(3).fill([action.id, true]));
    expect(opened).toEqual(Array(3).fill(action.id));
    expect(only(await kit.events(id), "actionRequired").action?.id).toBe(action.id);
  });

  test("A08 an action that nobody looks at for an hour is listed, and WatchActions shows it until it is answered", async () => {
    const kit = await openKit({ providers: [asking(approval).asks] });
    const { id } = await kit.start();
    const action = await kit.action(id);
    await kit.fake.advance(3_600_000);
    expect(await kit.actions()).toEqual([action]);
    const abort = new AbortController();
    const views = kit.runtime
      .watchActions(CALLER, create(WatchActionsRequestSchema), abort.signal)
      [Symbol.asyncIterator]();
    expect((await views.next()).value).toMatchObject({ actions: [action], synced: false });
    expect((await views.next()).value).toMatchObject({ actions: [], synced: true });
    const removed = views.next();
    await settle();
    await kit.respond(action, { approved: true });
    expect((await removed).value).toMatchObject({ actions: [], removedIds: [action.id] });
    const end = views.next();
    abort.abort();
    expect((await end).done).toBe(true);
  });

  test("A08 WatchActions takes an answered action away although more than 20 newer ones came in the meantime", async () => {
    const requests = Array.from({ length: 30 }, (_, index): ActionInit => ({ ...approval, key: `k${index}` }));
    const kit = await openKit({ providers: [asking(...requests).asks] });
    const { id } = await kit.start();
    const first = await kit.action(id);
    const abort = new AbortController();
    const views = kit.runtime
      .watchActions(CALLER, create(WatchActionsRequestSchema), abort.signal)
      [Symbol.asyncIterator]();
    expect((await views.next()).value).toMatchObject({ actions: [first] });
    expect((await views.next()).value).toMatchObject({ synced: true });
    for (let skip = 0; skip < 29; skip++) await kit.respond(await kit.action(id, skip), { approved: true });
    const open = await kit.action(id, 29);
    expect((await views.next()).value).toMatchObject({ actions: [open], removedIds: [first.id] });
    abort.abort();
    await views.return?.();
  });

  test("WatchActions of answered actions shows each once", async () => {
    const requests = Array.from({ length: 4 }, (_, index): ActionInit => ({ ...approval, key: `k${index}` }));
    const kit = await openKit({ providers: [asking(...requests).asks] });
    const { id } = await kit.start();
    await kit.action(id);
    const abort = new AbortController();
    const request = create(WatchActionsRequestSchema, { states: [ActionState.RESPONDED] });
    const views = kit.runtime.watchActions(CALLER, request, abort.signal)[Symbol.asyncIterator]();
    expect((await views.next()).value).toMatchObject({ actions: [], synced: true });
    for (let skip = 0; skip < 4; skip++) {
      const action = await kit.action(id, skip);
      const shown = views.next();
      await kit.respond(action, { approved: true });
      await settle();
      await kit.fake.advance(250);
      expect((await shown).value).toMatchObject({ actions: [{ id: action.id }], removedIds: [] });
    }
    abort.abort();
    await views.return?.();
  });

  describe("an outcome that asks for input", () => {
    const guessing = () =>
      provider(async (context) => {
        if (context.turn > 1) return { status: "succeeded", finalOutput: `you said ${context.input.text}` };
        return { status: "awaiting_input", request: { key: "q", title: "Which one?" } };
      });

    test("begins the next turn with the answer", async () => {
      const kit = await openKit({ providers: [guessing()] });
      const { id } = await kit.start();
      const action = await kit.action(id);
      expect((await kit.get(id)).state).toBe(ExecutionState.AWAITING_INPUT);
      await kit.respond(action, { value: value("the red one") });
      expect(await kit.over(id)).toMatchObject({ turn: 2, finalOutput: "you said the red one" });
      const responded = (await kit.events(id)).find(({ payload }) => payload.case === "actionResponded");
      expect(responded?.turn).toBe(2);
    });

    test("is answerable after a restart, and the finished turn is not run again", async () => {
      const kit = await openKit({ providers: [guessing()] });
      const { id } = await kit.start();
      const action = await kit.action(id);
      await kit.crash();
      await kit.until(id, "run.resumed");
      await kit.respond(action, { value: value({ pick: 2 }) });
      expect(await kit.over(id)).toMatchObject({ turn: 2, attempt: 2, finalOutput: 'you said {"pick":2}' });
    });
  });

  test("an input schema that is none is a violation", async () => {
    const kit = await openKit({
      providers: [asking({ key: "k", kind: INPUT, title: "?", inputSchema: { type: "nonsense" } }).asks],
    });
    const over = await kit.over((await kit.start()).id);
    expect(over.error?.reason).toBe(FailureReason.PROVIDER_PROTOCOL_VIOLATION);
  });

  test("a respond to an execution that is unknown is NOT_FOUND", async () => {
    const kit: Kit = await openKit({ providers: [provider(async () => undefined, { manifest: manifest("test") })] });
    const request = create(RespondActionRequestSchema, {
      executionId: "exe_x",
      actionId: "a",
      response: { approved: true },
    });
    await expect(kit.runtime.respondAction(CALLER, request)).rejects.toMatchObject({ reason: ErrorReason.NOT_FOUND });
  });
});
