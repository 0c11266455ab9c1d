import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import {
  type ConnectRequest,
  ConnectRequestSchema,
} from "../../../gen/ts/harnessruntime/provider/v1/provider_service_pb.js";
import { ErrorReason, FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { SupportLevel, Topology } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { scriptedProvider } from "../../../src/providers/scripted/scripted.js";
import { settle } from "../../core/fake-clock.js";
import { define, GRACE_MS, HEARTBEAT_MS, openRemoteKit, type RemoteKit, remoteManifest } from "./kit.js";
import { Peer } from "./peer.js";

const { FAILED, SUCCEEDED, CANCELLED, RUNNING } = ExecutionState;
const { PROVIDER_LOST, PROVIDER_PROTOCOL_VIOLATION } = FailureReason;
const { UNSUPPORTED } = SupportLevel;

/** Opens a kit with one peer that is registered. */
async function withPeer(more: Parameters<Peer["register"]>[0] = {}): Promise<{ remote: RemoteKit; peer: Peer }> {
  const remote = await openRemoteKit();
  const peer = new Peer(remote.wire);
  await peer.register(more);
  return { remote, peer };
}

/** The same with an execution that the peer was given. */
async function withRun(more: Parameters<Peer["register"]>[0] = {}) {
  const { remote, peer } = await withPeer(more);
  const { id } = await remote.start();
  await peer.next("run");
  return { remote, kit: remote.kit, peer, id };
}

async function textOf({ kit }: RemoteKit, id: string): Promise<string> {
  const texts = (await kit.events(id)).map(({ payload }) => {
    return payload.case === "outputTextDelta" ? payload.value.text : "";
  });
  return texts.join("");
}

describe("a stream is ended with the reason where", () => {
  const reason = async (peer: Peer): Promise<unknown> => {
    const error = (await peer.ended()) as { findDetails?: unknown; message: string };
    return error.message;
  };

  test("it begins with anything but `register`", async () => {
    const { wire } = await openRemoteKit();
    const peer = new Peer(wire);
    peer.send({ case: "heartbeat", value: {} });
    expect(await reason(peer)).toMatch(/the first one is `register`/);
  });

  test("it says nothing", async () => {
    const { wire, kit } = await openRemoteKit();
    const peer = new Peer(wire);
    await kit.fake.advance(10_000);
    expect(await reason(peer)).toMatch(/must come within 10000 ms/);
  });

  test.each([
    ["registers twice", (peer: Peer) => void peer.register().catch(() => undefined)],
    ["sends an empty message", (peer: Peer) => peer.sendNothing()],
  ])("it %s", async (_, misbehave) => {
    const { peer } = await withPeer();
    misbehave(peer);
    expect(await reason(peer)).toMatch(/`register` comes first and once/);
  });

  test.each([
    ["no manifest", { manifest: undefined }, /manifest/],
    ["no instance ID", { instanceId: "" }, /instance_id/],
    ["no capacity", { capacity: 0 }, /capacity/],
    [
      "another version of the protocol",
      { manifest: { ...remoteManifest(), protocolVersion: "1999-01-01" } },
      /2026-09-02/,
    ],
    ["no remote topology", { manifest: { ...remoteManifest(), topologies: [Topology.EMBEDDED] } }, /REMOTE/],
    ["a bad ID", { manifest: { ...remoteManifest(), id: "no spaces" } }, /manifest\.id/],
    [
      "a schema that is none",
      { manifest: { ...remoteManifest(), configSchema: { type: "nonsense" } } },
      /config_schema/,
    ],
    [
      "metadata that JSON has no form for",
      { manifest: { ...remoteManifest(), metadata: { cost: Number.NaN } } },
      /manifest/,
    ],
    ["the ID of a configured provider", { manifest: { ...remoteManifest(), id: "scripted" } }, /choose another/],
  ])("its manifest or instance has %s", async (_, more, message) => {
    const remote = await openRemoteKit();
    await remote.kit.runtime.addProvider(scriptedProvider());
    const peer = new Peer(remote.wire);
    peer.register(more as never).catch(() => undefined);
    expect(await reason(peer)).toMatch(message);
    expect(remote.kit.runtime.listProviders().map(({ manifest }) => manifest?.id)).toEqual(["scripted"]);
  });

  test("the caller may not be that provider", async () => {
    const remote = await openRemoteKit(
      {},
      {
        authorize() {
          throw new Error("not you");
        },
      },
    );
    const peer = new Peer(remote.wire);
    peer.register().catch(() => undefined);
    expect(await reason(peer)).toBe("not you");
  });

  test("another stream registers as the same instance, which takes its place", async () => {
    const { remote, peer } = await withPeer();
    const second = new Peer(remote.wire);
    await second.register();
    expect(await reason(peer)).toMatch(/another stream registered as instance peer/);
    const { id } = await remote.start();
    await second.next("run");
    second.finish(id);
    expect((await remote.kit.over(id)).state).toBe(SUCCEEDED);
  });
});

describe("an instance that lies about what is its own is FENCED, and nothing is appended:", () => {
  test.each([
    ["another attempt", { attempt: 2 }],
    ["an earlier attempt", { attempt: 0 }],
  ])("%s", async (_, more) => {
    const { remote, kit, peer, id } = await withRun();
    peer.emit(id, "no", { ...more, emitId: 1 });
    expect(await peer.refusal()).toBe("FENCED");
    peer.emit(id, "yes", { emitId: 1 });
    peer.finish(id);
    expect((await kit.over(id)).state).toBe(SUCCEEDED);
    expect(await textOf(remote, id)).toBe("yes");
  });

  test("another instance's execution, and one that never was", async () => {
    const { remote, kit, peer, id } = await withRun();
    const liar = new Peer(remote.wire, "liar");
    const { executions } = await liar.register({ executions: [{ executionId: id, attempt: 1, lastEmitId: 9 }] });
    expect(executions).toEqual([]);
    for (const executionId of [id, "exe_none"]) {
      liar.emit(executionId, "no");
      expect(await liar.refusal()).toBe("FENCED");
    }
    peer.finish(id);
    expect((await kit.over(id)).state).toBe(SUCCEEDED);
    expect(await textOf(remote, id)).toBe("");
  });

  test("an attempt that is over: what comes after the end or after a cancel changes nothing", async () => {
    const { remote, kit, peer, id } = await withRun();
    await kit.cancel(id);
    await peer.next("cancel");
    peer.emit(id, "late but heard");
    peer.send({ case: "cancelled", value: { executionId: id, attempt: 1, emitId: peer.nextEmitId } });
    expect((await kit.over(id)).state).toBe(CANCELLED);
    const before = await kit.events(id);
    peer.emit(id, "too late");
    peer.finish(id);
    expect(await peer.refusal()).toBe("FENCED");
    expect(await kit.events(id)).toEqual(before);
    expect(await textOf(remote, id)).toBe("late but heard");
  });

  test("an attempt whose next one runs elsewhere", async () => {
    const { remote, kit, peer, id } = await withRun();
    peer.emit(id, "one ");
    await peer.next("ack");
    peer.die();
    await remote.available(false);
    await remote.connect(
      define(async (context) => {
        await context.emit({ case: "outputTextDelta", value: { text: "two" } });
        return undefined;
      }),
    );
    await kit.fake.advance(GRACE_MS);
    expect(await kit.over(id)).toMatchObject({ state: SUCCEEDED, attempt: 2 });
    const back = new Peer(remote.wire);
    const { executions } = await back.register({ executions: [{ executionId: id, attempt: 1, lastEmitId: 1 }] });
    expect(executions).toEqual([]);
    back.emit(id, "three", { emitId: 2 });
    expect(await back.refusal()).toBe("FENCED");
    expect(await textOf(remote, id)).toBe("one two");
  });
});

describe("an instance that breaks the protocol fails its execution, with its cleanup:", () => {
  const violations: readonly (readonly [string, RegExp, (peer: Peer, id: string) => void])[] = [
    [
      "a gap in the outbox",
      /emit_id 3 came after 1/,
      (peer, id) => {
        peer.emit(id, "a");
        peer.emit(id, "c", { emitId: 3 });
      },
    ],
    ["the end of a later turn", /finished turn 2 in turn 1/, (peer, id) => peer.finish(id, 2)],
    [
      "an event without a payload",
      /without a payload/,
      (peer, id) => {
        peer.send({ case: "emit", value: { executionId: id, attempt: 1, emitId: 1, events: [{}] } });
      },
    ],
    [
      "an event of the runtime's",
      /run.completed/,
      (peer, id) => {
        const events = [{ payload: { case: "runCompleted" as const, value: {} } }];
        peer.send({ case: "emit", value: { executionId: id, attempt: 1, emitId: 1, events } });
      },
    ],
    [
      "a result that JSON has no form for",
      /NaN|finite|JSON/i,
      (peer, id) => {
        const structuredOutput = { kind: { case: "numberValue", value: Number.NaN } };
        peer.finish(id, 1, { result: { case: "success", value: { structuredOutput } } });
      },
    ],
    [
      "an action without a key",
      /key/,
      (peer, id) => {
        const action = { kind: 1, title: "?" };
        peer.send({ case: "requestAction", value: { executionId: id, attempt: 1, emitId: 1, key: "", action } });
      },
    ],
    [
      "an action of no kind",
      /approval or an input/,
      (peer, id) => {
        const action = { title: "?" };
        peer.send({ case: "requestAction", value: { executionId: id, attempt: 1, emitId: 1, key: "k", action } });
      },
    ],
    [
      "an item_id of 201 characters",
      /item_id .* at most 200 characters/,
      (peer, id) => {
        const events = [
          { payload: { case: "outputTextDelta" as const, value: { text: "x", itemId: "i".repeat(201) } } },
        ];
        peer.send({ case: "emit", value: { executionId: id, attempt: 1, emitId: 1, events } });
      },
    ],
    [
      "an action that is none",
      /request_action\.action: value is required/,
      (peer, id) => {
        peer.send({ case: "requestAction", value: { executionId: id, attempt: 1, emitId: 1, key: "k" } });
      },
    ],
    [
      "an end without an outcome",
      /finish\.outcome: value is required/,
      (peer, id) => {
        peer.send({ case: "finish", value: { executionId: id, attempt: 1, emitId: 1, turn: 1 } });
      },
    ],
    ["the end of no turn", /finish\.turn: must be greater/, (peer, id) => peer.finish(id, 0)],
    [
      "an evaluation without an action",
      /evaluation\.action: must be one of COMPLETION_ACTION_ACCEPT/,
      (peer, id) => peer.finish(id, 1, { result: { case: "success", value: { evaluation: { reason: "?" } } } }),
    ],
    [
      "a question at a turn's end without a key",
      /await_input\.key: must not be empty/,
      (peer, id) => peer.finish(id, 1, { result: { case: "awaitInput", value: { action: { title: "?" } } } }),
    ],
    [
      "a question at a turn's end that is none",
      /await_input\.action: value is required/,
      (peer, id) => peer.finish(id, 1, { result: { case: "awaitInput", value: { key: "k" } } }),
    ],
    ["an event at no position", /emit_id 0 is no position/, (peer, id) => peer.emit(id, "x", { emitId: 0 })],
    [
      "the end of a turn at no position",
      /emit_id -1 is no position/,
      (peer, id) => {
        const outcome = { result: { case: "success" as const, value: {} } };
        peer.send({ case: "finish", value: { executionId: id, attempt: 1, emitId: -1, turn: 1, outcome } });
      },
    ],
  ];
  test.each(violations)("%s", async (_, message, misbehave) => {
    const { kit, peer, id } = await withRun();
    misbehave(peer, id);
    await peer.next("cancel");
    await kit.fake.advance(10_000);
    expect(await kit.over(id)).toMatchObject({
      state: FAILED,
      error: { reason: PROVIDER_PROTOCOL_VIOLATION, message: expect.stringMatching(message) },
    });
  });

  test("the message that broke it is refused, and other executions of the instance go on", async () => {
    const { remote, kit, peer, id } = await withRun();
    const other = await remote.start();
    await peer.next("run");
    peer.emit(id, "kept");
    peer.finish(id, 0);
    expect(await peer.refusal()).toBe("VALIDATION_ERROR");
    await peer.next("cancel");
    peer.send({ case: "cancelled", value: { executionId: id, attempt: 1, emitId: peer.nextEmitId } });
    expect((await kit.over(id)).state).toBe(FAILED);
    expect(await textOf(remote, id)).toBe("kept");
    const outcome = { result: { case: "success" as const, value: {} } };
    peer.send({ case: "finish", value: { executionId: other.id, attempt: 1, emitId: 1, turn: 1, outcome } });
    expect((await kit.over(other.id)).state).toBe(SUCCEEDED);
  });

  test("what a failed turn says it used is the usage of its execution", async () => {
    const { kit, peer, id } = await withRun();
    peer.finish(id, 1, { result: { case: "failure", value: { message: "no", usage: { totalTokens: 9 } } } });
    await settle();
    await kit.fake.advance(10_000);
    expect(await kit.over(id)).toMatchObject({ state: FAILED, usage: { totalTokens: 9 } });
  });

  const lies: readonly (readonly [string, Record<string, SupportLevel>, (peer: Peer, id: string) => void])[] = [
    ["event.streaming", { "event.streaming": UNSUPPORTED }, (peer, id) => peer.emit(id, "text")],
    [
      "artifact.list",
      { "artifact.list": UNSUPPORTED },
      (peer, id) => {
        const artifacts = [{ id: "a", name: "a", mediaType: "text/plain" }];
        peer.send({ case: "emit", value: { executionId: id, attempt: 1, emitId: 1, artifacts } });
      },
    ],
    [
      "action.approval",
      { "action.approval": UNSUPPORTED },
      (peer, id) => {
        const action = { kind: 1, title: "?" };
        peer.send({ case: "requestAction", value: { executionId: id, attempt: 1, emitId: 1, key: "k", action } });
      },
    ],
    [
      "action.input",
      { "action.input": UNSUPPORTED },
      (peer, id) => {
        peer.finish(id, 1, { result: { case: "awaitInput", value: { key: "k", action: { title: "?" } } } });
      },
    ],
    [
      "policy.completion",
      { "policy.completion": UNSUPPORTED },
      (peer, id) => {
        peer.finish(id, 1, { result: { case: "success", value: { evaluation: { action: 1 } } } });
      },
    ],
  ];
  test.each(lies)("P03 use of %s, which its manifest does not have", async (capability, levels, misbehave) => {
    const { kit, peer, id } = await withRun({ manifest: remoteManifest(levels) });
    misbehave(peer, id);
    await settle();
    await kit.fake.advance(10_000);
    expect(await kit.over(id)).toMatchObject({
      state: FAILED,
      error: { reason: PROVIDER_PROTOCOL_VIOLATION, message: expect.stringContaining(capability) },
    });
  });
});

describe("sizes", () => {
  test("L11 an event that is too large is refused alone; what came with it is stored, and the execution goes on", async () => {
    const { remote, kit, peer, id } = await withRun();
    peer.emit(id, "a");
    const events = [
      { payload: { case: "providerEvent" as const, value: { type: "x.y", data: { big: "x".repeat(300_000) } } } },
    ];
    peer.send({ case: "emit", value: { executionId: id, attempt: 1, emitId: peer.nextEmitId, events } });
    peer.emit(id, "b");
    expect(await peer.refusal()).toBe("EVENT_TOO_LARGE");
    peer.finish(id);
    expect((await kit.over(id)).state).toBe(SUCCEEDED);
    expect(await textOf(remote, id)).toBe("ab");
  });

  test("a resume state that is too large is refused, and none of its events is kept", async () => {
    const { remote, kit, peer, id } = await withRun();
    const events = [{ payload: { case: "outputTextDelta" as const, value: { text: "no" } } }];
    const resumeState = new Uint8Array((1 << 20) + 1);
    peer.send({ case: "emit", value: { executionId: id, attempt: 1, emitId: peer.nextEmitId, events, resumeState } });
    expect(await peer.refusal()).toBe("VALIDATION_ERROR");
    peer.finish(id);
    expect((await kit.over(id)).state).toBe(SUCCEEDED);
    expect(await textOf(remote, id)).toBe("");
  });
});

describe("a flood", () => {
  test("is not read while the store is slow, and is stored whole when it is fast again", async () => {
    const remote = await openRemoteKit();
    const { kit } = remote;
    let pulled = 0;
    let registered = (): void => undefined;
    let id = "";
    const hasRun = Promise.withResolvers<void>();
    async function* flood(): AsyncGenerator<ConnectRequest> {
      const register = { manifest: remoteManifest(), instanceId: "flood", capacity: 1 };
      yield create(ConnectRequestSchema, { message: { case: "register", value: register } });
      await hasRun.promise;
      for (let emitId = 1; emitId <= 2_000; emitId++) {
        pulled = emitId;
        const events = [{ payload: { case: "outputTextDelta" as const, value: { text: "x".repeat(32_768) } } }];
        yield create(ConnectRequestSchema, {
          message: { case: "emit", value: { executionId: id, attempt: 1, emitId, events } },
        });
      }
      const outcome = { result: { case: "success" as const, value: { finalOutput: "all" } } };
      yield create(ConnectRequestSchema, {
        message: { case: "finish", value: { executionId: id, attempt: 1, emitId: 2_001, turn: 1, outcome } },
      });
      await new Promise(() => undefined);
    }
    const abort = new AbortController();
    const read = async (): Promise<void> => {
      const context = { signal: abort.signal } as HandlerContext;
      for await (const { message } of remote.service.implementation.connect(flood(), context)) {
        if (message?.case === "registered") registered();
        if (message?.case === "run") {
          kit.store.tamper = () => held.promise;
          hasRun.resolve();
        }
      }
    };
    const held = Promise.withResolvers<void>();
    const isRegistered = new Promise<void>((resolve) => {
      registered = resolve;
    });
    void read();
    await isRegistered;
    ({ id } = await remote.start());
    await hasRun.promise;
    for (let round = 0; round < 20; round++) await settle();
    expect(pulled * 32_768).toBeLessThan(9 << 20);
    kit.store.tamper = () => "pass";
    held.resolve();
    expect(await kit.over(id)).toMatchObject({ state: SUCCEEDED, finalOutput: "all" });
    expect((await textOf(remote, id)).length).toBe(2_000 * 32_768);
    abort.abort();
  });

  test("of a finished turn's text is stored before its end, although nothing was acknowledged yet", async () => {
    const { remote, kit, peer, id } = await withRun();
    for (let index = 0; index < 500; index++) peer.emit(id, `${index} `);
    peer.finish(id);
    expect((await kit.over(id)).state).toBe(SUCCEEDED);
    expect(await textOf(remote, id)).toBe(Array.from({ length: 500 }, (_, index) => `${index} `).join(""));
  });

  test("is not lost where the store fails for a while", async () => {
    const { remote, kit, peer, id } = await withRun();
    kit.store.tamper = () => "refuse";
    for (let index = 0; index < 50; index++) peer.emit(id, `${index} `);
    peer.finish(id);
    await settle();
    await kit.fake.advance(500);
    kit.store.tamper = () => "pass";
    await kit.fake.advance(10_000);
    expect((await kit.over(id)).state).toBe(SUCCEEDED);
    expect(await textOf(remote, id)).toBe(Array.from({ length: 50 }, (_, index) => `${index} `).join(""));
  });
});

describe("an instance that goes", () => {
  /** What a good one sends in one turn. */
  const script: readonly ((peer: Peer, id: string) => void)[] = [
    (peer, id) => peer.emit(id, "a"),
    (peer, id) => {
      const action = { kind: 1, title: "May I?" };
      const value = { executionId: id, attempt: 1, emitId: peer.nextEmitId, key: "k", action };
      peer.send({ case: "requestAction", value });
    },
    (peer, id) => peer.emit(id, "b"),
    (peer) => peer.send({ case: "heartbeat", value: {} }),
    (peer, id) => peer.finish(id),
  ];
  const points = script.map((_, index) => index);

  test.each(points)("after %i of its messages leaves an execution that ends", async (point) => {
    const { remote, kit, peer, id } = await withRun({ manifest: remoteManifest({ "execution.resume": UNSUPPORTED }) });
    for (const act of script.slice(0, point)) act(peer, id);
    await settle();
    peer.die();
    await remote.available(false);
    await kit.fake.advance(GRACE_MS);
    expect(await kit.over(id)).toMatchObject({ state: FAILED, error: { reason: PROVIDER_LOST } });
    expect((await kit.actions(id)).every(({ state }) => state !== 1)).toBe(true);
  });

  test("silent is gone after three heartbeats, and its executions after the grace", async () => {
    const { remote, kit, peer, id } = await withRun({ manifest: remoteManifest({ "execution.resume": UNSUPPORTED }) });
    await kit.fake.advance(3 * HEARTBEAT_MS - 1);
    expect(kit.runtime.getProvider("remote").available).toBe(true);
    await kit.fake.advance(1);
    await remote.available(false);
    expect(String(await peer.ended())).toMatch(/said nothing for 30000 ms/);
    expect((await kit.get(id)).state).toBe(RUNNING);
    await kit.fake.advance(GRACE_MS);
    expect(await kit.over(id)).toMatchObject({ state: FAILED, error: { reason: PROVIDER_LOST } });
  });

  test("by ending its side of the stream has the grace to come back", async () => {
    const { remote, kit, peer, id } = await withRun();
    peer.emit(id, "a");
    await peer.next("ack");
    peer.close();
    await remote.available(false);
    const back = new Peer(remote.wire);
    const { executions } = await back.register({ executions: [{ executionId: id, attempt: 1, lastEmitId: 1 }] });
    expect(executions).toMatchObject([{ executionId: id, attempt: 1, lastEmitId: 1 }]);
    back.emit(id, "b", { emitId: 2 });
    back.finish(id);
    expect((await kit.over(id)).state).toBe(SUCCEEDED);
    expect(await textOf(remote, id)).toBe("ab");
  });

  test.each([
    ["without the execution", []],
    ["with less of its outbox than it sent", [{ attempt: 1, lastEmitId: 0 }]],
    ["with another attempt", [{ attempt: 7, lastEmitId: 1 }]],
  ])("and comes back %s has lost it", async (_, held) => {
    const { remote, kit, peer, id } = await withRun({ manifest: remoteManifest({ "execution.resume": UNSUPPORTED }) });
    peer.emit(id, "a");
    await peer.next("ack");
    peer.die();
    await remote.available(false);
    const back = new Peer(remote.wire);
    await back.register({
      manifest: remoteManifest({ "execution.resume": UNSUPPORTED }),
      executions: held.map((more) => ({ executionId: id, ...more })),
    });
    expect(await kit.over(id)).toMatchObject({ state: FAILED, error: { reason: PROVIDER_LOST } });
  });

  test("before it has read its first turn is given it again", async () => {
    const { remote, peer } = await withPeer();
    remote.wire.onDown = (message) => message.case !== "run";
    const { id } = await remote.start();
    await remote.kit.until(id, "run.started");
    peer.die();
    await remote.available(false);
    remote.wire.onDown = () => true;
    const back = new Peer(remote.wire);
    await back.register();
    expect((await back.next("run")).execution?.id).toBe(id);
    back.finish(id);
    expect(await remote.kit.over(id)).toMatchObject({ state: SUCCEEDED, attempt: 1 });
  });

  test("again and again with the same execution is not given it for ever", async () => {
    const { remote, kit, peer, id } = await withRun();
    let last = peer;
    for (let attempt = 1; attempt <= 6; attempt++) {
      last.die();
      await remote.available(false);
      last = new Peer(remote.wire, `peer ${attempt}`);
      await last.register();
      await kit.fake.advance(GRACE_MS);
      if (attempt < 6) await last.next("run");
    }
    expect(await kit.over(id)).toMatchObject({ state: FAILED, error: { reason: PROVIDER_LOST }, attempt: 6 });
  });
});

test("a provider that is known and not there is PROVIDER_UNAVAILABLE, also after a restart", async () => {
  const { remote, peer } = await withPeer();
  peer.die();
  await remote.available(false);
  await expect(remote.start()).rejects.toMatchObject({ reason: ErrorReason.PROVIDER_UNAVAILABLE });
  await remote.crash();
  await expect(remote.start()).rejects.toMatchObject({ reason: ErrorReason.PROVIDER_UNAVAILABLE });
});
