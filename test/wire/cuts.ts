import type { JsonObject } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { createHarnessClient } from "../../src/client/node.js";
import { type Fate, openProxy, seededRandom } from "../support/proxy.js";
import { type ScriptedServerOptions, serveScripted } from "./scripted-server.js";

/** What a client saw of one execution, from its start to its end. */
export interface Seen {
  readonly executionId: string;
  /** The sequences in the order in which they were shown. */
  readonly sequences: readonly number[];
  /** The joined text of the output deltas. */
  readonly text: string;
}

/** Starts an execution of this config by way of a URL and follows it to its end. */
export type FollowOne = (url: string, config: JsonObject) => Promise<Seen>;

/** How often a stream that is silent beats, for these tests: a half-open connection costs three of them. */
export const HEARTBEAT_MS = 100;

/** How many connections are cut. */
export const CUTS = process.env["SOAK"] === "1" ? 1_000 : process.env["CI"] === undefined ? 10 : 100;

const WORDS = 300;

/**
 * Has executions started and followed through a proxy that cuts connections at
 * random bytes, delays them and leaves some half-open, until `cuts` were cut; what
 * a client saw of each must be its log: nothing lost, doubled or out of order.
 */
export async function followThroughCuts(
  cuts: number,
  follow: FollowOne,
  options: ScriptedServerOptions = {},
): Promise<{ readonly executions: number }> {
  const server = await serveScripted({ heartbeatMs: HEARTBEAT_MS, ...options });
  const proxy = await openProxy(server.port, fates(seededRandom(cuts)));
  const direct = createHarnessClient({ baseUrl: server.url });
  let executions = 0;
  try {
    while (proxy.ended() < cuts) {
      const text = Array.from({ length: WORDS }, (_, word) => `${executions}.${word}`).join(" ");
      const seen = await follow(`http://127.0.0.1:${proxy.port}`, { steps: [{ text: { text, pace_ms: 1 } }] });
      executions++;
      const { execution } = await direct.executions.getExecution({ executionId: seen.executionId });
      expect(seen.sequences).toEqual(Array.from({ length: execution?.lastSequence ?? 0 }, (_, index) => index + 1));
      expect(seen.text).toBe(text);
      expect(execution?.finalOutput).toBe(text);
    }
    const { executions: all } = await direct.executions.listExecutions({ pageSize: 1000 });
    expect(all).toHaveLength(executions);
    return { executions };
  } finally {
    await proxy.close();
    await server.close();
  }
}

/** Most connections are cut soon, some late enough for a whole log; every twentieth is left half-open. */
function fates(random: () => number): (connection: number) => Fate {
  return (connection) => ({
    afterBytes: 1 + Math.floor(random() * (connection % 3 === 0 ? 30_000 : 2_000)),
    delayMs: [0, 0, 20, 100][Math.floor(random() * 4)] ?? 0,
    ending: connection % 20 === 19 ? "half-open" : random() < 0.7 ? "reset" : "close",
  });
}
