import type { MessageInitShape } from "@bufbuild/protobuf";
import { equals } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type {
  AttachExecutionRequestSchema,
  AttachExecutionResponse,
} from "../../../gen/ts/harnessruntime/v1/attach_pb.js";
import { EventSchema } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import type { Scene } from "../suite.js";
import { kindsOf } from "../support/follow.js";
import { refusal, start } from "../support/stage.js";

type Command = MessageInitShape<typeof AttachExecutionRequestSchema>;

export function testAttach(scene: () => Scene): void {
  describe("AttachExecution", () => {
    test("start, send and cancel do what the unary calls do, and a snapshot comes first", async () => {
      const talk = open(
        scene(),
        startCommand({ steps: [{ text: "one" }, { await_steer: true }, { sleep_ms: 60_000 }] }),
      );
      const { frame } = await talk.next();
      if (frame.case !== "snapshot") throw new Error(`not a snapshot: ${frame.case}`);
      expect(frame.value).toMatchObject({ providerId: "scripted", tenantId: "acme" });
      await talk.until("outputTextDelta");
      talk.send(sendCommand("s1", "steered"));
      const sent = await talk.receipt("s1");
      if (sent.case !== "sendInput") throw new Error(`not accepted: ${sent.case}`);
      await talk.until("inputConsumed");
      talk.send({ commandId: "c1", command: { case: "cancel", value: { reason: "enough" } } });
      expect((await talk.receipt("c1")).case).toBe("cancel");
      await talk.end();
      expect(talk.events[sent.value.sequence - 1]?.payload).toMatchObject({ value: { inputId: sent.value.inputId } });
      expect(talk.events.at(-1)?.payload).toMatchObject({ case: "runCancelled", value: { reason: "enough" } });
      const stored = await scene().clients.executions.listEvents({ executionId: frame.value.id, pageSize: 1_000 });
      expect(stored.events).toHaveLength(talk.events.length);
      expect(stored.events.every((event, index) => equals(EventSchema, event, talk.events[index]!))).toBe(true);
    });

    test("attach goes on from a cursor, with a filter, and shows open actions in its snapshot", async () => {
      const { clients } = scene();
      const run = await start(clients, { steps: [{ text: "a" }, { approval: { title: "go?" } }, { text: "b" }] });
      const { id: actionId } = await run.action();
      const value = { executionId: run.id, afterSequence: 2, eventTypes: ["action.*", "run.*"] };
      const talk = open(scene(), { command: { case: "attach", value } });
      expect((await talk.next()).frame.value).toMatchObject({
        id: run.id,
        openActions: [{ id: actionId, title: "go?" }],
      });
      await talk.until("actionRequired");
      await clients.actions.respondAction({ executionId: run.id, actionId, response: { approved: true } });
      await talk.end();
      expect(kindsOf(talk.events)).toEqual(["runStarted", "actionRequired", "actionResponded", "runCompleted"]);
      await run.finish();
    });

    test("a refused command is a receipt with its reason, and the stream goes on", async () => {
      const talk = open(scene(), startCommand({ steps: [{ await_steer: true }] }));
      await talk.until("runStarted");
      talk.send({ commandId: "bad", command: { case: "sendInput", value: { input: { text: "x" } } } });
      const receipt = await talk.receipt("bad");
      expect(receipt).toMatchObject({ case: "error", value: { code: 3 } });
      talk.send({ commandId: "p", command: { case: "ping", value: {} } }, sendCommand("s", "go"));
      expect((await talk.receipt("p")).case).toBe("pong");
      await talk.end();
      expect(kindsOf(talk.events).at(-1)).toBe("runCompleted");
    });

    test("after the half-close events keep coming, and a client that goes away cancels nothing", async () => {
      const talk = open(scene(), startCommand({ steps: [{ text: "a" }] }));
      talk.halfClose();
      await talk.end();
      expect(kindsOf(talk.events).at(-1)).toBe("runCompleted");

      const left = open(scene(), startCommand({ steps: [{ sleep_ms: 50 }, { text: "b" }] }));
      const { frame } = await left.next();
      left.leave();
      if (frame.case !== "snapshot") throw new Error("no snapshot");
      const { execution } = await scene().clients.executions.waitExecution({ executionId: frame.value.id });
      expect(execution?.state).toBe(ExecutionState.SUCCEEDED);
    });

    test.each<[string, Command, string]>([
      ["an unknown execution", { command: { case: "attach", value: { executionId: "none" } } }, "NOT_FOUND"],
      [
        "a start that is refused",
        { command: { case: "start", value: { providerId: "none", input: {} } } },
        "PROVIDER_NOT_FOUND",
      ],
      ["a command that is neither attach nor start", { command: { case: "ping", value: {} } }, "VALIDATION_ERROR"],
    ])("%s ends the stream with what the unary call would fail with", async (_, command, reason) => {
      expect((await refusal(open(scene(), command).next())).reason).toBe(reason);
    });
  });
}

function startCommand(config: { steps: object[] }): Command {
  const value = { providerId: "scripted", input: { text: "hello" }, config: JSON.parse(JSON.stringify(config)) };
  return { commandId: "start", command: { case: "start", value } };
}

function sendCommand(commandId: string, text: string): Command {
  return { commandId, command: { case: "sendInput", value: { input: { text }, mode: InputMode.STEER } } };
}

/** One attached stream, read step by step. */
function open({ clients }: Scene, ...first: Command[]) {
  const commands = [...first];
  const abort = new AbortController();
  let closed = false;
  let wake = (): void => undefined;
  async function* outgoing(): AsyncGenerator<Command> {
    for (;;) {
      const command = commands.shift();
      if (command !== undefined) yield command;
      else if (closed) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }
  const responses = clients.executions.attachExecution(outgoing(), { signal: abort.signal })[Symbol.asyncIterator]();
  const events: AttachEvents = [];
  const receipts = new Map<string, Receipt["result"]>();
  const next = async (): Promise<AttachExecutionResponse> => {
    const { done, value } = await responses.next();
    if (done === true) throw new Error(`the stream ended after ${kindsOf(events).join(" ")}`);
    const { frame } = value;
    if (frame.case === "events") events.push(...frame.value.events);
    if (frame.case === "receipt") receipts.set(frame.value.commandId, frame.value.result);
    return value;
  };
  return {
    events,
    next,
    send(...more: Command[]): void {
      commands.push(...more);
      wake();
    },
    halfClose(): void {
      closed = true;
      wake();
    },
    leave: (): void => abort.abort(),
    async until(kind: string): Promise<void> {
      while (!events.some(({ payload }) => payload.case === kind)) await next();
    },
    async receipt(commandId: string): Promise<Receipt["result"]> {
      for (;;) {
        const result = receipts.get(commandId);
        if (result !== undefined) return result;
        await next();
      }
    },
    async end(): Promise<void> {
      for (;;) {
        const { done, value } = await responses.next();
        if (done === true) break;
        if (value.frame.case === "events") events.push(...value.frame.value.events);
      }
      closed = true;
      wake();
    },
  };
}

type AttachEvents = Extract<AttachExecutionResponse["frame"], { case: "events" }>["value"]["events"];
type Receipt = Extract<AttachExecutionResponse["frame"], { case: "receipt" }>["value"];
