import { describe, expect, test } from "vitest";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { HarnessError } from "../../../src/core/errors.js";
import type { ProviderContext, ProviderEvent } from "../../../src/core/provider.js";
import { settle } from "../../core/fake-clock.js";
import { aborted, gate } from "../../core/kit.js";
import { until } from "../../support/processes.js";
import { define, GRACE_MS, openRemoteKit, type RemoteKit, remoteManifest } from "./kit.js";
import { Peer } from "./peer.js";

const { CANCELLED, SUCCEEDED, RUNNING } = ExecutionState;

function delta(text: string): ProviderEvent {
  return { case: "outputTextDelta", value: { text } };
}

/** Notes the messages to instances by their names. */
function toInstances({ wire }: RemoteKit): string[] {
  const names: string[] = [];
  wire.onDown = ({ case: name }) => {
    names.push(name ?? "");
    return true;
  };
  return names;
}

describe("a cancel", () => {
  test("C01 that comes while the first turn is made ready ends at once, and nothing of it is given", async () => {
    const remote = await openRemoteKit();
    const { kit } = remote;
    await new Peer(remote.wire).register();
    const names = toInstances(remote);
    const reading = gate();
    const read = gate();
    kit.store.listExecutions = async () => {
      reading.resolve();
      await read.promise;
      return { items: [], nextPageToken: "" };
    };
    const { id } = await remote.start();
    await reading.promise;
    await kit.cancel(id);
    expect(await kit.over(id)).toMatchObject({ state: CANCELLED, cancel: { cleanupError: "" } });
    read.resolve();
    await settle();
    expect(names).not.toContain("run");
    expect(names).not.toContain("cancel");
  });

  test("of a turn that never arrived is confirmed by an instance that has not heard of it", async () => {
    const remote = await openRemoteKit();
    const { kit, wire } = remote;
    const connection = await remote.connect(define(async () => undefined));
    wire.onDown = (message) => message.case !== "run";
    const { id } = await remote.start();
    await kit.until(id, "run.started");
    await settle();
    await kit.cancel(id);
    expect(await kit.over(id)).toMatchObject({ state: CANCELLED, cancel: { cleanupError: "" } });
    await remote.idle(connection);
  });

  test("while the instance was away is all that it is sent for the execution", async () => {
    const remote = await openRemoteKit();
    const { kit, wire } = remote;
    let runs = 0;
    const connection = await remote.connect(
      define(async () => {
        runs++;
        return undefined;
      }),
    );
    wire.onDown = (message) => message.case !== "run";
    const { id } = await remote.start();
    await kit.until(id, "run.started");
    await settle();
    wire.isDown = true;
    wire.cut();
    await remote.available(false);
    await kit.cancel(id);
    await kit.until(id, "run.cancelling");
    await settle();
    const names = toInstances(remote);
    wire.isDown = false;
    await kit.fake.advance(1_000);
    expect(await kit.over(id)).toMatchObject({ state: CANCELLED, cancel: { cleanupError: "" } });
    await remote.idle(connection);
    expect(names).not.toContain("run");
    expect(runs).toBe(0);
  });

  test("is confirmed by an instance that has nothing more of an attempt it sent events for", async () => {
    const remote = await openRemoteKit();
    const { kit } = remote;
    const peer = new Peer(remote.wire);
    await peer.register();
    const { id } = await remote.start();
    await peer.next("run");
    for (const text of ["a", "b"]) peer.emit(id, text);
    await kit.until(id, "output.text.delta", 1);
    await kit.cancel(id);
    await peer.next("cancel");
    peer.send({ case: "cancelled", value: { executionId: id, attempt: 1, emitId: 1 } });
    expect(await kit.over(id)).toMatchObject({ state: CANCELLED, cancel: { cleanupError: "" } });
  });

  test("in the middle of a restart stops the turn that the instance went on with", async () => {
    const remote = await openRemoteKit();
    const { kit } = remote;
    const connection = await remote.connect(
      define(async (context) => {
        await context.emit(delta("one"));
        await aborted(context.signal);
        return { status: "cancelled" };
      }),
    );
    const { id } = await remote.start();
    await kit.until(id, "output.text.delta");
    await remote.crash();
    const reading = gate();
    const read = gate();
    const { getSideRows } = kit.store;
    kit.store.getSideRows = async (...args) => {
      reading.resolve();
      await read.promise;
      return await getSideRows(...args);
    };
    await reading.promise;
    await kit.cancel(id);
    await kit.until(id, "run.cancelling");
    read.resolve();
    expect(await kit.over(id)).toMatchObject({ state: CANCELLED, attempt: 1, cancel: { cleanupError: "" } });
    await remote.idle(connection);
  });
});

describe("a turn that is being replaced", () => {
  /** Runs a turn that is slow to stop, and sends the input that replaces it. */
  async function replacing(end: Promise<void>) {
    const remote = await openRemoteKit();
    const { kit } = remote;
    const stopping = gate();
    await remote.connect(
      define(async (context: ProviderContext) => {
        await context.emit(delta(`turn ${context.turn} `));
        if (context.turn > 1) return undefined;
        await aborted(context.signal);
        stopping.resolve();
        await end;
        return { status: "cancelled" };
      }),
    );
    const { id } = await remote.start();
    await kit.until(id, "output.text.delta");
    await kit.send(id, InputMode.REPLACE, "new");
    await stopping.promise;
    return { remote, kit, id };
  }

  test("when the runtime shuts down goes on with its attempt at the next start", async () => {
    const end = gate();
    const { remote, kit, id } = await replacing(end.promise);
    const names = toInstances(remote);
    await kit.runtime.close(0);
    expect(names).not.toContain("cancel");
    await remote.crash();
    await until("the turn is told again to stop", () => names.includes("input"));
    end.resolve();
    expect(await kit.over(id)).toMatchObject({ state: SUCCEEDED, attempt: 1, turn: 2, finalOutput: "turn 2 " });
    expect(await kit.names(id)).not.toContain("run.resumed");
  });

  test("when another runtime takes the execution over has to stop, and is given nothing more", async () => {
    const end = gate();
    const { remote, kit, id } = await replacing(end.promise);
    const names = toInstances(remote);
    kit.store.append = async () => {
      throw new HarnessError(ErrorReason.FENCED, "another node owns it", {});
    };
    end.resolve();
    await until("the instance is told", () => names.includes("ack"));
    await settle();
    expect(names).not.toContain("cancel");
    expect((await kit.get(id)).state).toBe(RUNNING);
    expect(kit.runtime.getProvider("remote").activeExecutions).toBe(0);
  });
});

describe("an attempt that came back after a restart", () => {
  async function returned(manifest = remoteManifest()) {
    const remote = await openRemoteKit();
    const { kit } = remote;
    const go = gate();
    const connection = await remote.connect(
      define(
        async (context) => {
          await context.emit(delta("one "));
          await Promise.race([go.promise, aborted(context.signal)]);
          await context.emit(delta("two"));
          return undefined;
        },
        { manifest, capacity: 1 },
      ),
    );
    const { id } = await remote.start();
    await kit.until(id, "output.text.delta");
    await remote.crash();
    return { remote, kit, go, connection, id };
  }

  test("is taken up by the next try where the store failed at the first", async () => {
    const { kit, go, id } = await returned(remoteManifest({ "execution.resume": SupportLevel.UNSUPPORTED }));
    const { claim } = kit.store;
    const failed = gate();
    kit.store.claim = async () => {
      kit.store.claim = claim;
      failed.resolve();
      throw new HarnessError(ErrorReason.STORE_UNAVAILABLE, "the disk is full", {});
    };
    await failed.promise;
    await settle();
    await kit.fake.advance(GRACE_MS + 1_000);
    go.resolve();
    expect(await kit.over(id)).toMatchObject({ state: SUCCEEDED, attempt: 1, finalOutput: "one two" });
  });

  test("and that another runtime took has to stop: it keeps no room", async () => {
    const { remote, kit, connection } = await returned();
    const claimed = gate();
    const { claim } = kit.store;
    kit.store.claim = async () => {
      kit.store.claim = claim;
      claimed.resolve();
      return undefined;
    };
    await claimed.promise;
    await kit.fake.advance(GRACE_MS);
    await remote.idle(connection);
    const { id } = await remote.start();
    await kit.until(id, "output.text.delta");
    await kit.cancel(id, "", true);
  });
});
