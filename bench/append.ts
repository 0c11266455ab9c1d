import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { at, type Line, median, round, thousands } from "./report.js";
import { costing, startFreeServer, startLoad, watching } from "./rig.js";

const EXECUTIONS = 10;
const SECONDS = 10;
const RATE = 1_000;
const GROWTH = [1_000, 10_000, 100_000, 1_000_000];

/** How long a durable event takes from its provider to its reader, and whether events cost more as a log grows. */
export async function benchAppend(): Promise<readonly Line[]> {
  return [...(await benchLatency()), ...(await benchGrowth())];
}

async function benchLatency(): Promise<readonly Line[]> {
  const fsyncMs = measureFsync();
  const server = await startFreeServer();
  const load = await startLoad();
  const url = await server.call("open", { durable: true });
  const emission = { batch: 1, everyMs: (1_000 * EXECUTIONS) / RATE, stamped: true };
  const round1 = await emitAndRead((RATE / EXECUTIONS) * 2);
  const { agesMs } = await emitAndRead((RATE / EXECUTIONS) * SECONDS);
  await Promise.all([server.stop(), load.stop()]);
  const bound = 3 * fsyncMs + 5;
  const p99 = at(agesMs, 0.99);
  return [
    {
      name: `append -> delivered, ${thousands(RATE)} events/s`,
      figures: {
        p50: `${round(median(agesMs))} ms`,
        p99: `${round(p99)} ms`,
        max: `${round(Math.max(...agesMs))} ms`,
        fdatasync: `${round(fsyncMs)} ms`,
        events: thousands(agesMs.length),
        "warm-up p99": `${round(at(round1.agesMs, 0.99))} ms`,
      },
      target: [`p99 < 3 fsyncs + 5 ms = ${round(bound)} ms`, p99 < bound],
    },
  ];

  async function emitAndRead(events: number): Promise<{ readonly agesMs: readonly number[] }> {
    const ids: string[] = [];
    for (let index = 0; index < EXECUTIONS; index++) ids.push(await server.call("start", { ...emission, events }));
    for (const id of ids) await load.call("open", { ...watching(url, id), stamped: true });
    await server.call("go", ids);
    const result = await load.call("ended");
    await load.call("close");
    return result;
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

/** What one durable write costs this disk, in milliseconds. */
function measureFsync(): number {
  const folder = mkdtempSync(join(tmpdir(), "harness-fsync-"));
  const file = openSync(join(folder, "file"), "w");
  const times: number[] = [];
  for (let index = 0; index < 200; index++) {
    writeSync(file, Buffer.alloc(4_096, index));
    const began = performance.now();
    fdatasyncSync(file);
    times.push(performance.now() - began);
  }
  closeSync(file);
  rmSync(folder, { recursive: true });
  return median(times);
}
