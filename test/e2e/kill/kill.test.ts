import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toJson } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Event, EventSchema } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import { createHarnessClient, followEvents, type HarnessClient, isTerminal, respond } from "../../../src/client.js";
import { build, type Running, start } from "../../cli/support/processes.js";

const rounds = process.env["SOAK"] === "1" ? 200 : 8;
const WRITERS = 6;
/** How long after the last restart an execution may still be open: the remote grace is the longest bound of recovery. */
const RECOVERY_MS = 30_000;

let folder: string;

beforeAll(() => {
  build();
  folder = mkdtempSync(join(tmpdir(), "harness-kill-"));
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One server, killed and started again on the same port and data. */
class Victim {
  readonly #args: readonly string[];
  readonly url: string;
  #running!: Running;

  constructor(port: number) {
    this.url = `http://127.0.0.1:${port}`;
    this.#args = ["serve", "--port", String(port), "--data", folder, "--set", "server.drain_grace=100ms"];
  }

  async start(): Promise<void> {
    this.#running = start(this.#args, { cwd: tmpdir() });
    await this.#running.saw(/serves (\S+)/);
  }

  async kill(): Promise<void> {
    this.#running.child.kill("SIGKILL");
    await this.#running.ended;
  }

  async stop(): Promise<void> {
    this.#running.child.kill("SIGTERM");
    await this.#running.ended;
  }
}

/** What readers were shown: by execution, each event by its sequence. */
type Shown = Map<string, Map<number, string>>;

const SCRIPTS = [
  [{ text: "one " }, { sleep_ms: 30 }, { text: "two" }],
  [{ flood: { count: 200, bytes: 40 } }],
  [{ text: "ask" }, { approval: { key: "k", title: "Go on?" } }, { text: "went on" }],
  [
    { tool_call: { id: "t", name: "shell", kind: "execute", input: { command: "ls" }, output: "a" } },
    { sleep_ms: 200 },
  ],
  [{ artifact: { id: "a", name: "a.txt", media_type: "text/plain" } }, { sleep_ms: 2_000 }, { text: "late" }],
  [{ text: "then" }, { fail: "on purpose" }],
];

/** Starts executions one after the other, follows each to its end, answers what it asks, cancels some. */
async function write(client: HarnessClient, writer: number, shown: Shown, signal: AbortSignal): Promise<void> {
  for (let count = 0; !signal.aborted; count++) {
    const steps = SCRIPTS[(writer + count) % SCRIPTS.length] ?? [];
    const { execution } = await client.executions.startExecution({
      providerId: "scripted",
      input: { text: `${writer}/${count}` },
      config: { steps },
      idempotencyKey: `w${writer}-${count}`,
    });
    const executionId = execution?.id ?? "";
    const seen = shown.get(executionId) ?? new Map<number, string>();
    shown.set(executionId, seen);
    if (count % 5 === 4) {
      void client.executions.cancelExecution({ executionId, reason: "changed my mind" }).catch(() => undefined);
    }
    for await (const event of followEvents(client, { executionId })) {
      seen.set(event.sequence, text(event));
      const { payload } = event;
      if (payload.case === "actionRequired") await answer(client, executionId, payload.value.action?.id ?? "");
    }
  }
}

/** Answers until somebody's answer is there: a kill may have come between the answer and its acceptance. */
async function answer(client: HarnessClient, executionId: string, actionId: string): Promise<void> {
  await respond(client, { executionId, actionId }, { approved: true }).catch((error: Error) => {
    if (!/answered|CLOSED|ABANDONED/i.test(error.message)) throw error;
  });
}

function text(event: Event): string {
  return JSON.stringify(toJson(EventSchema, event));
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

async function readLog(client: HarnessClient, executionId: string): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of followEvents(client, { executionId })) events.push(event);
  return events;
}

describe("kill -9", () => {
  test(`S01 ${rounds} kills at random points under load: nothing shown is lost or renumbered, no execution stays open`, async () => {
    const victim = new Victim(await freePort());
    await victim.start();
    const client = createHarnessClient({ baseUrl: victim.url, retry: { callGiveUpMs: 120_000, maxDelayMs: 500 } });
    const shown: Shown = new Map();
    const load = new AbortController();
    const writers = Array.from({ length: WRITERS }, (_, writer) => write(client, writer, shown, load.signal));
    const failed = Promise.race(writers);
    for (let round = 0; round < rounds; round++) {
      await Promise.race([new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 400)), failed]);
      await victim.kill();
      await victim.start();
    }
    load.abort();
    const deadline = setTimeout(() => void victim.kill(), RECOVERY_MS);
    await Promise.all(writers);
    clearTimeout(deadline);

    expect(shown.size).toBeGreaterThan(WRITERS);
    let events = 0;
    for (const [executionId, seen] of shown) {
      const log = await readLog(client, executionId);
      expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
      for (const [sequence, event] of seen) expect(text(log[sequence - 1] as Event)).toBe(event);
      const ends = log.filter(({ payload }) => /^run(Completed|Failed|Cancelled)$/.test(payload.case ?? ""));
      expect(ends).toEqual([log.at(-1)]);
      events += seen.size;
    }
    const open = await client.executions.listExecutions({ pageSize: 1000 });
    expect(open.executions.filter(({ state }) => !isTerminal(state))).toEqual([]);
    expect(events).toBeGreaterThan(100);
    console.info(`${rounds} kills, ${shown.size} executions, ${events} events shown, none lost`);
    await victim.stop();
  }, 3_600_000);
});
