import type { MessageInitShape } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { Code, createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ErrorInfoSchema } from "../../gen/ts/google/rpc/error_details_pb.js";
import type {
  AttachExecutionRequestSchema,
  AttachExecutionResponse,
} from "../../gen/ts/harnessruntime/v1/attach_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { WIRES } from "./support/clients.js";
import { collect, failure, infoOf, serve } from "./support/serve.js";

type Command = MessageInitShape<typeof AttachExecutionRequestSchema>;

/** Commands that a test sends one by one; `end` is the half-close. */
function createCommands(...first: Command[]) {
  const waiting = [...first];
  let ended = false;
  let wake = (): void => undefined;
  return {
    send(...commands: Command[]): void {
      waiting.push(...commands);
      wake();
    },
    end(): void {
      ended = true;
      wake();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const command = waiting.shift();
        if (command !== undefined) yield command;
        else if (ended) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
  };
}

const START: Command = { command: { case: "start", value: { providerId: "fake", input: { text: "hi" } } } };
const MORE: Command = {
  commandId: "c1",
  command: { case: "sendInput", value: { input: { text: "more" }, mode: InputMode.STEER } },
};
const ENOUGH: Command = { commandId: "c2", command: { case: "cancel", value: { reason: "enough" } } };
const PING: Command = { commandId: "ping", command: { case: "ping", value: {} } };

function describeFrame({ frame }: AttachExecutionResponse): string {
  switch (frame.case) {
    case "events":
      return frame.value.events.map((event) => `${event.sequence}`).join(",");
    case "receipt":
      return `${frame.value.commandId}: ${frame.value.result.case}`;
    default:
      return frame.case ?? "";
  }
}

for (const sideDoor of [true, false]) {
  for (const wire of WIRES.filter(({ bidi }) => bidi)) {
    describe(`AttachExecution over ${wire.name} with the side door ${sideDoor ? "on" : "off"}`, () => {
      async function open() {
        const { fake, url, server } = await serve({ sideDoor });
        return { fake, server, client: createClient(ExecutionService, wire.connect(url)) };
      }

      test("start answers with the snapshot, then events and receipts come by one stream until the end", async () => {
        const { fake, client } = await open();
        const commands = createCommands(START);
        const frames: string[] = [];
        await collect(client.attachExecution(commands), (response) => {
          frames.push(describeFrame(response));
          if (frames.length === 2) commands.send(MORE, PING, ENOUGH);
          if (frames.length === 5) fake.append("exe_1", ["a", "b"]);
          if (frames.length === 6) fake.append("exe_1", [], ExecutionState.SUCCEEDED);
        });
        commands.end();
        expect(frames).toEqual(["snapshot", "1", "c1: sendInput", "ping: pong", "c2: cancel", "2,3", "4"]);
        expect(fake.calls).toEqual(["startExecution", "sendInput more", "cancelExecution enough"]);
        expect(fake.watchers.size).toBe(0);
      });

      test("a refused command is a receipt with the error's details and the stream goes on", async () => {
        const { client } = await open();
        const mode = InputMode.STEER;
        const commands = createCommands(
          START,
          { commandId: "late", command: { case: "sendInput", value: { input: { text: "refuse" }, mode } } },
          { commandId: "no mode", command: { case: "sendInput", value: { input: { text: "x" } } } },
          { commandId: "twice", command: { case: "attach", value: { executionId: "exe_1" } } },
          { commandId: "empty" },
        );
        const refusals = new Map<string, string>();
        for await (const { frame } of client.attachExecution(commands)) {
          if (frame.case !== "receipt" || frame.value.result.case !== "error") continue;
          const status = frame.value.result.value;
          const info = status.details[0] && anyUnpack(status.details[0], ErrorInfoSchema);
          refusals.set(frame.value.commandId, `${Code[status.code]} ${info?.reason}`);
          if (refusals.size === 4) break;
        }
        expect(Object.fromEntries(refusals)).toEqual({
          late: "FailedPrecondition INVALID_STATE",
          "no mode": "InvalidArgument VALIDATION_ERROR",
          twice: "InvalidArgument VALIDATION_ERROR",
          empty: "InvalidArgument VALIDATION_ERROR",
        });
      });

      test("after the half-close events keep coming", async () => {
        const { fake, client } = await open();
        const commands = createCommands(START);
        commands.end();
        let frames = 0;
        const responses = await collect(client.attachExecution(commands), () => {
          frames++;
          if (frames === 2) fake.append("exe_1", ["late"]);
          if (frames === 3) fake.append("exe_1", [], ExecutionState.SUCCEEDED);
        });
        expect(responses.map(describeFrame)).toEqual(["snapshot", "1", "2", "3"]);
      });

      test("the first command must be attach or start", async () => {
        const { client } = await open();
        const empty = createCommands();
        empty.end();
        for (const commands of [createCommands(PING), empty]) {
          const error = await failure(collect(client.attachExecution(commands)));
          expect(error.code).toBe(Code.InvalidArgument);
          expect(infoOf(error).reason).toBe("VALIDATION_ERROR");
        }
        const unknown = createCommands({ command: { case: "attach", value: { executionId: "exe_9" } } });
        expect(infoOf(await failure(collect(client.attachExecution(unknown)))).reason).toBe("NOT_FOUND");
      });

      test("a drain ends the stream with RESUME_AFTER", async () => {
        const { client, server } = await open();
        let draining: Promise<void> | undefined;
        const error = await failure(
          collect(client.attachExecution(createCommands(START)), (response) => {
            if (response.frame.case === "events") draining ??= server.drain();
          }),
        );
        await draining;
        expect(infoOf(error)).toEqual({ reason: "RESUME_AFTER", metadata: { after_sequence: "1" } });
      });

      test("a client that goes away leaves no watcher", async () => {
        const { fake, client } = await open();
        const abort = new AbortController();
        await failure(
          collect(client.attachExecution(createCommands(START), { signal: abort.signal }), ({ frame }) => {
            if (frame.case === "events") abort.abort();
          }),
        );
        await expect.poll(() => fake.watchers.size).toBe(0);
      });
    });
  }
}
