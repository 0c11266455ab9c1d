import { toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { RunSchema } from "../../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import { settle } from "../../core/fake-clock.js";
import { define, GRACE_MS, openRemoteKit } from "./kit.js";
import { Peer } from "./peer.js";

const { FAILED, SUCCEEDED } = ExecutionState;
const MAX_RESPONSE_BYTES = 8 << 20;
const MIB = "x".repeat(1_000_000);

/** Opens a kit with a peer whose turn has taken more steers than one message may hold. */
async function withManySteers() {
  const remote = await openRemoteKit();
  const { kit } = remote;
  const peer = new Peer(remote.wire);
  await peer.register();
  const { id } = await remote.start();
  await peer.next("run");
  for (let number = 1; number <= 10; number++) {
    await kit.send(id, InputMode.STEER, `${number} ${MIB}`);
    await peer.next("input");
  }
  peer.die();
  await remote.available(false);
  return { remote, kit, id };
}

describe("a turn that took many inputs", () => {
  test("is followed by an attempt that is told the newest of them, in a message that fits", async () => {
    const { remote, kit, id } = await withManySteers();
    const next = new Peer(remote.wire, "next");
    await next.register();
    await kit.fake.advance(GRACE_MS - 1);
    next.send({ case: "heartbeat", value: {} });
    await kit.fake.advance(1);
    const run = await next.next("run");
    expect(toBinary(RunSchema, run).length).toBeLessThan(MAX_RESPONSE_BYTES);
    expect(run.resume?.inputs.map(({ input }) => input?.text.split(" ")[0])).toEqual(["9", "10"]);
    next.send({
      case: "finish",
      value: { executionId: id, attempt: 2, emitId: 1, turn: 1, outcome: { result: { case: "success", value: {} } } },
    } as never);
    expect((await kit.over(id)).state).toBe(SUCCEEDED);
  });

  test("sends only the newest of them again over a new stream", async () => {
    const { remote, kit, id } = await withManySteers();
    const inputs: string[] = [];
    remote.wire.onDown = (message) => {
      if (message.case === "input") inputs.push(message.value.input?.text.split(" ")[0] ?? "");
      return true;
    };
    const back = new Peer(remote.wire);
    await back.register({ executions: [{ executionId: id, attempt: 1, lastEmitId: 0 }] });
    await back.next("run");
    await settle();
    expect(inputs).toEqual(["9", "10"]);
    back.finish(id);
    expect((await kit.over(id)).state).toBe(SUCCEEDED);
  });
});

test("a turn that no message can hold fails its execution and leaves the stream to the others", async () => {
  const remote = await openRemoteKit();
  const { kit } = remote;
  const connection = await remote.connect(define(async () => undefined));
  const sizes: number[] = [];
  remote.wire.onDown = (message) => {
    if (message.case === "run") sizes.push(toBinary(RunSchema, message.value).length);
    return true;
  };
  const { id } = await remote.start({ config: { blob: "x".repeat(MAX_RESPONSE_BYTES) } });
  expect(await kit.over(id)).toMatchObject({ state: FAILED, error: { message: expect.stringMatching(/the turn is/) } });
  const other = await remote.start();
  expect((await kit.over(other.id)).state).toBe(SUCCEEDED);
  expect(sizes).toHaveLength(1);
  expect(remote.wire.size).toBe(1);
  await remote.idle(connection);
});
