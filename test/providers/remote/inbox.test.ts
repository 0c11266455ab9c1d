import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { EmitSchema, FinishSchema } from "../../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError } from "../../../src/core/errors.js";
import type { EmitExtra, ProviderContext } from "../../../src/core/provider.js";
import { Flow } from "../../../src/providers/remote/flow.js";
import { Inbox, type InboxHost } from "../../../src/providers/remote/inbox.js";
import type { OutboxMessage } from "../../../src/providers/remote/outbox-message.js";
import { FakeClock, settle } from "../../core/fake-clock.js";

const at = { executionId: "exe_1", attempt: 1 };

function emit(emitId: number): OutboxMessage {
  const events = [{ payload: { case: "outputTextDelta" as const, value: { text: `${emitId}` } } }];
  return { case: "emit", value: create(EmitSchema, { ...at, emitId, events }) };
}

test("what follows a turn's end is stored behind it, also where the store fails for a while", async () => {
  const marks: (number | undefined)[] = [];
  let isFull = false;
  const context = {
    async emit(_: unknown, { mark }: EmitExtra) {
      if (isFull) throw new HarnessError(ErrorReason.STORE_UNAVAILABLE, "the disk is full");
      marks.push(mark);
    },
  } as ProviderContext;
  const acks: number[] = [];
  const host: InboxHost = {
    context: () => context,
    ack: (emitId) => acks.push(emitId),
    ask: async () => undefined,
    finish: () => "wait",
    cancelled() {},
    violate(message) {
      throw new Error(message);
    },
    fenced() {},
  };
  const clock = new FakeClock();
  const inbox = new Inbox(host, clock, new Flow(), 0);
  inbox.take(emit(1));
  inbox.take({ case: "finish", value: create(FinishSchema, { ...at, emitId: 2, turn: 1, outcome: {} }) });
  await settle();
  isFull = true;
  void inbox.resume();
  await settle();
  isFull = false;
  inbox.take(emit(3));
  await clock.advance(1_000);
  expect(marks).toEqual([1, 2, 3]);
  expect(acks).toEqual([1, 2, 3]);
  expect(inbox.stored).toBe(3);
  await inbox.close();
});
