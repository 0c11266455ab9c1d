import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createHarnessClient, runToEnd } from "../../../src/client.js";
import { type BuiltServer, startBuiltServer } from "../../e2e/wire/built-server.js";
import { type Fate, openProxy } from "../../support/proxy.js";
import { CUTS, followThroughCuts, HEARTBEAT_MS, type Seen } from "../../wire/cuts.js";
import { type ScriptedServer, serveScripted } from "../../wire/scripted-server.js";
import type { PageFunctions } from "./page.js";
import { type OpenPage, openPage } from "./page-site.js";

let opened: OpenPage;
beforeAll(async () => {
  opened = await openPage(join(import.meta.dirname, "page.ts"));
}, 60_000);
afterAll(async () => opened?.close());

type Functions = Record<string, (...args: unknown[]) => unknown>;

/** Calls a function of the page. */
async function call<K extends keyof PageFunctions>(
  name: K,
  ...args: Parameters<PageFunctions[K]>
): Promise<Awaited<ReturnType<PageFunctions[K]>>> {
  const evaluate = (given: unknown): unknown => {
    const [which, values] = given as [string, unknown[]];
    return (globalThis as unknown as { harness: Functions }).harness[which]?.(...values);
  };
  return (await opened.page.evaluate(evaluate, [name, args] as unknown)) as Awaited<ReturnType<PageFunctions[K]>>;
}

const APPROVAL: JsonObject = { steps: [{ text: "a" }, { approval: { title: "Well?" } }, { text: "b" }] };

describe.each(["connect", "grpc-web"] as const)("W01 a page of another origin in Chromium, over %s", (protocol) => {
  let server: ScriptedServer;
  beforeAll(async () => {
    server = await serveScripted({ corsOrigins: [opened.origin] });
  });
  afterAll(async () => server?.close());

  test("starts, watches and answers", async () => {
    const ran = await call("run", { baseUrl: server.url, protocol }, APPROVAL);
    expect(ran).toMatchObject({ state: "SUCCEEDED", text: "ab" });
    expect(ran.sequences).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("attaches, sends, pings and cancels", async () => {
    const { inputId, types } = await call("command", { baseUrl: server.url, protocol }, APPROVAL);
    expect(inputId).not.toBe("");
    expect(types).toContain("input.accepted");
    expect(types.slice(-1)).toEqual(["run.cancelled"]);
  });

  test("W02 is told why the server refuses, before the first frame", async () => {
    const failure = await call("followMissing", { baseUrl: server.url, protocol });
    expect(failure).toMatchObject({ name: "HarnessRpcError", reason: "NOT_FOUND", metadata: { id: "exe_missing" } });
  });
});

describe.each(["connect", "grpc-web"] as const)("W02 after the first frame, over %s", (protocol) => {
  test("a page is told why a stream ended", async () => {
    const followed = Promise.withResolvers<void>();
    const server = await serveScripted({ corsOrigins: [opened.origin], onFirstFrame: followed.resolve });
    const drained = followed.promise.then(() => server.server.drain());
    const failure = await call("watchUntilFailure", { baseUrl: server.url, protocol });
    await drained;
    await server.close();
    expect(failure).toMatchObject({ name: "HarnessRpcError", reason: "RESUME_AFTER" });
    expect(failure.frames).toBeGreaterThan(0);
    expect(Number(failure.metadata["after_sequence"])).toBeGreaterThan(0);
  });
});

test("W05 a page of an origin that is not allowed cannot call", async () => {
  const server = await serveScripted({ corsOrigins: ["http://example.com"] });
  const options = { baseUrl: server.url, retry: { callGiveUpMs: 0 } };
  await expect(call("run", options, APPROVAL)).rejects.toThrow(/Failed to fetch/);
  await server.close();
});

describe("R05 a page that follows an execution", () => {
  let server: BuiltServer;
  beforeAll(async () => {
    const allowed = ["--set", `server.allowed_origins=${opened.origin}`];
    server = await startBuiltServer("--log-level", "warn", ...allowed);
  }, 60_000);
  afterAll(async () => server?.close());

  test.each([
    ["is killed", "crash"],
    ["is restarted", "restart"],
  ] as const)(
    "loses nothing when the server %s in mid-stream",
    async (_, how) => {
      const words = Array.from({ length: 400 }, (_unused, word) => `w${word}`).join(" ");
      await opened.page.evaluate(() => Object.assign(globalThis, { lastSequence: 0 }));
      const running = call("run", { baseUrl: server.url }, { steps: [{ text: { text: words, pace_ms: 5 } }] });
      const inMidStream = (): boolean => ((globalThis as { lastSequence?: number }).lastSequence ?? 0) > 50;
      await opened.page.waitForFunction(inMidStream);
      await server[how]();
      const ran = await running;
      expect(ran.sequences).toEqual(Array.from(ran.sequences, (_sequence, index) => index + 1));
      expect(ran.state).toBe("SUCCEEDED");
      expect(ran.text).toBe(words);
    },
    60_000,
  );

  test.each(["connect", "grpc-web"] as const)(
    "takes no answer for whole that was cut, at any byte, over %s",
    async (protocol) => {
      const direct = createHarnessClient({ baseUrl: server.url });
      const { id } = await runToEnd(direct, { providerId: "scripted", input: { text: "go" } });
      // One connection after the other is cut a byte later, until one is whole.
      let cut = 0;
      const fate = (): Fate => ({ afterBytes: ++cut, ending: "close" });
      const proxy = await openProxy(Number(new URL(server.url).port), fate);
      try {
        const retry = { baseDelayMs: 1, maxDelayMs: 1, callGiveUpMs: 60_000 };
        const baseUrl = `http://127.0.0.1:${proxy.port}`;
        expect(await call("ask", { baseUrl, protocol, retry }, id, 20)).toBe(20);
        expect(proxy.ended()).toBeGreaterThan(500);
        const cuts = proxy.ended();
        cut = 0;
        expect(await call("askMissing", { baseUrl, protocol, retry }, 2)).toEqual(["NOT_FOUND", "NOT_FOUND"]);
        expect(proxy.ended() - cuts).toBeGreaterThan(300);
      } finally {
        await proxy.close();
      }
    },
    120_000,
  );

  test(`loses nothing when its connection is cut ${CUTS} times`, { timeout: CUTS * 5_000 }, async () => {
    const follow = async (baseUrl: string, config: JsonObject): Promise<Seen> => {
      const retry = { baseDelayMs: 5, maxDelayMs: 50, callGiveUpMs: 30_000, streamGiveUpMs: 30_000 };
      const options = { baseUrl, heartbeatIntervalMs: HEARTBEAT_MS, callTimeoutMs: 500, retry };
      return call("run", options, config);
    };
    const { executions } = await followThroughCuts(CUTS, follow, { corsOrigins: [opened.origin] });
    expect(executions).toBeGreaterThan(0);
  });
});
