import { create } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { ActionKind, type ActionRequest } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import {
  RespondActionRequestSchema,
  WatchActionsRequestSchema,
} from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { Runtime } from "../../src/core/runtime.js";
import {
  createMemorySessions,
  type ExecutionDriver,
  type HarnessExecutionServices,
  workflowDriver,
} from "../../src/engine.js";
import { overCrash } from "./crash.js";
import { ADA, driver, MAIN, model, type Script, tool, untilAborted } from "./fixtures.js";

/** A driver that does the same in `resume` as in `start`. */
function durable(script: Script, resume: Script = script): ExecutionDriver {
  const made = driver(script);
  return {
    ...made,
    capabilities: { ...made.capabilities, durable: true },
    resume: (request, services) => driver(resume).start(request, services),
  };
}

const RED = create(ValueSchema, { kind: { case: "stringValue", value: "red" } });

/** Calls `see` with each action of an execution as it opens, until the runtime is closed. */
function eachAction(runtime: Runtime, executionId: string, see: (action: ActionRequest) => unknown): void {
  const watching = async (): Promise<void> => {
    const request = create(WatchActionsRequestSchema, { executionId });
    const seen = new Set<string>();
    for await (const { actions } of runtime.watchActions(ADA, request, new AbortController().signal)) {
      for (const action of actions) {
        if (seen.has(action.id)) continue;
        seen.add(action.id);
        await see(action);
      }
    }
  };
  watching().catch(() => {});
}

/** Answers every action of an execution. */
function answerAll(runtime: Runtime, executionId: string): void {
  eachAction(runtime, executionId, async ({ id, kind }) => {
    const response = kind === ActionKind.APPROVAL ? { approved: true } : { value: RED };
    await runtime.respondAction(ADA, create(RespondActionRequestSchema, { executionId, actionId: id, response }));
  });
}

/** Resolves once a further attempt has begun. */
async function untilResumed(runtime: Runtime, executionId: string): Promise<void> {
  const options = { executionId, afterSequence: 0, eventTypes: ["run.resumed"], maxBatch: 0, follow: true };
  const watcher = await runtime.watchEvents(ADA, options);
  while ((await watcher.next())?.bytes.length === 0);
  watcher.close();
}

const ASK = {
  tools: [tool("a")],
  grants: { toolIds: ["a"], modelRoles: [] },
  executionPolicy: { decide: () => ({ action: "ask" as const }) },
};

describe("a run that goes on after a crash", () => {
  test("E154 a turn that an answer begins after the restart is started, not resumed", async () => {
    const asked = Promise.withResolvers<void>();
    const ended = await overCrash({
      until: asked.promise,
      meanwhile: (runtime, executionId, life) => {
        if (life === 1) eachAction(runtime, executionId, () => asked.resolve());
        else void untilResumed(runtime, executionId).then(() => answerAll(runtime, executionId));
      },
      driver: () =>
        durable(
          (_services, { input }) => {
            return input === "first" ? { status: "awaiting_input", text: "Which one?" } : `started ${input}`;
          },
          () => "resumed",
        ),
    });
    expect(ended).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "started red" });
  });

  test.each([
    ["model calls", { maxModelCalls: 1 }],
    ["tokens", { maxTokens: 5 }],
  ])("E154 what was used before counts against the budget of %s", async (_what, budgets) => {
    const used = Promise.withResolvers<void>();
    const asked = model();
    const call = (services: HarnessExecutionServices) => services.model(asked, [{ role: "user", content: "hi" }]);
    const ended = await overCrash({
      until: used.promise,
      options: { grants: MAIN, budgets },
      driver: (life) =>
        durable(async (services) => {
          await call(services);
          if (life > 1) return "more";
          setImmediate(used.resolve);
          return await untilAborted(services.signal);
        }),
    });
    expect(ended).toMatchObject({ state: ExecutionState.FAILED, error: { reason: FailureReason.BUDGET_EXHAUSTED } });
    expect(asked.calls.length).toBe(1);
  });

  test("E154 tool calls of before count, and the one too many is denied", async () => {
    const used = Promise.withResolvers<void>();
    const ended = await overCrash({
      until: used.promise,
      options: { tools: [tool("a")], grants: ASK.grants, budgets: { maxToolCalls: 1 } },
      driver: (life) =>
        durable(async (services) => {
          const { denial } = await services.dispatch({ id: `c${life}`, name: "a", arguments: {} });
          if (life > 1) return denial ?? "ran";
          setImmediate(used.resolve);
          return await untilAborted(services.signal);
        }),
    });
    expect(ended.finalOutput).toBe("policy");
  });

  test("E154 an approval of an earlier turn is not taken for that of the same call in this one", async () => {
    const reached = Promise.withResolvers<void>();
    const ended = await overCrash({
      until: reached.promise,
      followUps: ["second"],
      options: ASK,
      meanwhile: answerAll,
      driver: (life) =>
        durable(async (services, { turn }) => {
          if (turn === 2 && life === 1) {
            reached.resolve();
            return await untilAborted(services.signal);
          }
          const { result, denial } = await services.dispatch({ id: `c${turn}`, name: "a", arguments: {} });
          return `${result ?? denial}`;
        }),
    });
    expect(ended).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "a done", turn: 2 });
  });

  test("E154 an approval of a step that is over is not taken for that of a like step", async () => {
    const reached = Promise.withResolvers<void>();
    const ended = await overCrash({
      until: reached.promise,
      options: ASK,
      meanwhile: answerAll,
      driver: (life) =>
        workflowDriver({
          id: "etl",
          durable: true,
          run: async ({ step, services }) => {
            const first = await step("a", {}, async () => "one");
            if (life === 1) {
              setImmediate(reached.resolve);
              await untilAborted(services.signal);
            }
            return `${first} ${await step("a", {}, async () => "two")}`;
          },
        }),
    });
    expect(ended).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "one two" });
  });

  test("E154 what the turn said before its runtime was closed is not in the history twice", async () => {
    const said = Promise.withResolvers<void>();
    const sessionStore = createMemorySessions();
    let sessionId = "";
    await overCrash({
      until: said.promise,
      followUps: ["second"],
      options: { sessionStore },
      driver: (life) =>
        durable(async (services, request) => {
          ({ sessionId } = request);
          services.append([{ role: "user", content: request.input }]);
          if (life === 1 && request.turn === 2) {
            said.resolve();
            return await untilAborted(services.signal);
          }
          return "ok";
        }),
    });
    const { history } = await (await sessionStore.acquire(ADA, sessionId)).read();
    expect(history.map(({ content }) => content)).toEqual(["first", "second"]);
  });
});
