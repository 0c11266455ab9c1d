import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { at, type Line, median, round, thousands } from "./report.js";
import { costing, startFreeServer, startLoad, watching } from "./rig.js";

const EXECUTIONS = 10;
const SECONDS = 10;
const ROUNDS = 3;
const RATE = 1_000;
const GROWTH = [1_000, 10_000, 100_000, 1_000_000];

/** How long a durable event takes from its provider to its reader, and whether events cost more as a log grows. */
export async function benchAppend(): Promise<readonly Line[]> {
  return [...(await benchLatency()), ...(await benchGrowth())];
}

async function benchLatency(): Promise<readonly Line[]> {
  const server = await startFreeServer();
  const load = await startLoad();
  const url = await server.call("open", { durable: true });
  const emission = { batch: 1, everyMs: (1_000 * EXECUTIONS) / RATE, stamped: true };
  const warmUp = await emitAndRead((RATE / EXECUTIONS) * 2);
  const disk = probeDisk();
  const rounds: (readonly number[])[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await emitAndRead((RATE / EXECUTIONS) * SECONDS));
  const fsyncsMs = disk.stop();
  await Promise.all([server.stop(), load.stop()]);
  const fsyncMs = median(fsyncsMs);
  const bound = 3 * fsyncMs + 5;
  const p99s = rounds.map((agesMs) => at(agesMs, 0.99));
  const p99 = median(p99s);
  return [
    {
      name: `append -> delivered, ${thousands(RATE)} events/s`,
      figures: {
        p50: `${round(median(rounds.flat()))} ms`,
        p99: `${round(p99)} ms (${round(Math.min(...p99s))} to ${round(Math.max(...p99s))})`,
        max: `${round(Math.max(...rounds.flat()))} ms`,
        fdatasync: `${round(fsyncMs)} ms`,
        "its p99": `${round(at(fsyncsMs, 0.99))} ms`,
        events: thousands(rounds.flat().length),
        "warm-up p99": `${round(at(warmUp, 0.99))} ms`,
      },
      target: [`p99 < 3 fsyncs + 5 ms = ${round(bound)} ms`, p99 < bound],
    },
  ];

  /** The ages in milliseconds at which events arrived. */
  async function emitAndRead(events: number): Promise<readonly number[]> {
    const ids: string[] = [];
    for (let index = 0; index < EXECUTIONS; index++) ids.push(await server.call("start", { ...emission, events }));
    for (const id of ids) await load.call("open", { ...watching(url, id), stamped: true });
    await server.call("go", ids);
    const { agesMs } = await load.call("ended");
    await load.call("close");
    return agesMs;
  }
}

async function benchGrowth(): Promise<readonly Line[]> {
  const server = await startFreeServer();
  await server.call("open", { durable: true });
  const costs: number[] = [];
  for (const events of [10_000, ...GROWTH]) {
    const id = await server.call("start", { events, batch: 100, everyMs: 0 });
    const { cpuUs } = await costing(server, async () => {
      await server.call("go", [id]);
      return server.call("ended", id);
    });
    costs.push(cpuUs / events);
  }
  await server.stop();
  const [, small = Number.NaN, ...larger] = costs;
  const last = larger.at(-1) ?? Number.NaN;
  const figures = Object.fromEntries(GROWTH.map((events, index) => [thousands(events), round(costs[index + 1] ?? 0)]));
  return [
    {
      name: "server CPU us/event by log length",
      figures: { ...figures, ratio: round(last / small) },
      target: ["flat from 1,000 to 1,000,000 (<= 1.25)", last / small <= 1.25],
    },
  ];
}

/** Measures what one durable write costs this disk, in milliseconds, ten times a second until it is stopped. */
function probeDisk(): { stop(): readonly number[] } {
  const folder = mkdtempSync(join(tmpdir(), "harness-fsync-"));
  const file = openSync(join(folder, "file"), "w");
  const timesMs: number[] = [];
  const timer = setInterval(() => {
    writeSync(file, Buffer.alloc(4_096, timesMs.length));
    const began = performance.now();
    fdatasyncSync(file);
    timesMs.push(performance.now() - began);
  }, 100);
  return {
    stop() {
      clearInterval(timer);
      closeSync(file);
      rmSync(folder, { recursive: true });
      return timesMs;
    },
  };
}
