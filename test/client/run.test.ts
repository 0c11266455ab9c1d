import { describe, expect, test } from "vitest";
import { ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { createClientFor } from "../../src/client/client.js";
import { eventTypeOf } from "../../src/client/event-type.js";
import { followToEnd, runToEnd } from "../../src/client/run.js";
import { FakeRuntime } from "./fake-runtime.js";
import { sequencesOf } from "./logs.js";
import { hastyClock, settled } from "./manual-clock.js";

const START = { providerId: "fake", input: { text: "hi" } };

function connect() {
  const runtime = new FakeRuntime();
  return { runtime, client: createClientFor(runtime.transport(), true, { clock: hastyClock() }) };
}

describe("running to the end", () => {
  test("starts once, shows every event through cuts, and returns the execution as it ended", async () => {
    const { runtime, client } = connect();
    runtime.cuts.push(1, 0, 2);
    const events: Event[] = [];
    const end = await runToEnd(client, START, {
      onStart: ({ id }) => runtime.say(id, "a", "b"),
      onEvent: (event) => {
        events.push(event);
        if (event.sequence === 3) runtime.say(event.executionId, "c");
        if (event.sequence === 4) runtime.succeed(event.executionId);
      },
    });
    expect(end.state).toBe(ExecutionState.SUCCEEDED);
    expect(sequencesOf(events)).toEqual([1, 2, 3, 4, 5]);
    expect(events.map(eventTypeOf)).toEqual([
      "run.queued",
      "output.text.delta",
      "output.text.delta",
      "output.text.delta",
      "run.completed",
    ]);
    expect(runtime.executions.size).toBe(1);
  });

  test("answers an action while the log goes on, and asks once", async () => {
    const { runtime, client } = connect();
    const asked: string[] = [];
    const end = await runToEnd(client, START, {
      onStart: ({ id }) => runtime.ask(id, "act_1"),
      onAction: async ({ id }) => {
        asked.push(id);
        runtime.say("exe_1", "meanwhile");
        await settled();
        return { approved: true };
      },
      onEvent: ({ payload, executionId }) => {
        if (payload.case === "actionResponded") runtime.succeed(executionId);
      },
    });
    expect(asked).toEqual(["act_1"]);
    expect(end.openActions).toMatchObject([{ id: "act_1", state: ActionState.RESPONDED, approved: true }]);
  });

  test("does not ask about an action that the replay already closes", async () => {
    const { runtime, client } = connect();
    runtime.start();
    runtime.ask("exe_1", "act_1");
    runtime.append("exe_1", [{ case: "actionAbandoned", value: { actionId: "act_1", reason: "cancelled" } }]);
    runtime.succeed("exe_1");
    const end = await followToEnd(
      client,
      { executionId: "exe_1" },
      { onAction: () => Promise.reject(new Error("asked")) },
    );
    expect(end.state).toBe(ExecutionState.SUCCEEDED);
  });

  test("takes back the question when somebody else answers", async () => {
    const { runtime, client } = connect();
    runtime.start();
    runtime.ask("exe_1", "act_1");
    let withdrawn = false;
    await followToEnd(
      client,
      { executionId: "exe_1" },
      {
        onAction: async (_, signal) => {
          await new Promise<void>((resolve) => {
            signal.addEventListener("abort", () => resolve());
            void client.actions.respondAction({
              executionId: "exe_1",
              actionId: "act_1",
              response: { approved: false },
            });
          });
          withdrawn = true;
          runtime.succeed("exe_1");
          return { approved: true };
        },
      },
    );
    expect(withdrawn).toBe(true);
    expect(runtime.find("exe_1").execution.openActions).toMatchObject([{ approved: false }]);
  });

  test("throws what a handler throws, and the execution goes on", async () => {
    const { runtime, client } = connect();
    runtime.start();
    runtime.ask("exe_1", "act_1");
    const from = { executionId: "exe_1" };
    const bad = () => Promise.reject(new Error("no terminal"));
    await expect(followToEnd(client, from, { onAction: bad })).rejects.toThrow("no terminal");
    await expect(followToEnd(client, from, { onEvent: bad })).rejects.toThrow("no terminal");
    expect(runtime.find("exe_1").execution.state).toBe(ExecutionState.AWAITING_APPROVAL);
  });

  test("C06 stops with the signal, which cancels nothing", async () => {
    const { runtime, client } = connect();
    const stop = new AbortController();
    const run = runToEnd(client, START, { onEvent: () => stop.abort(new Error("enough")) }, stop.signal);
    await expect(run).rejects.toThrow("enough");
    expect(runtime.find("exe_1").execution.state).toBe(ExecutionState.QUEUED);
    expect(runtime.calls).toEqual(["startExecution"]);
  });
});
