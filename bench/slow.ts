import { type Line, median, round, thousands } from "./report.js";
import { startFreeServer, startLoad, watching } from "./rig.js";

const EVENTS = 1_000_000;
const MIB = 1024 * 1024;

const ROUNDS = 3;
const MANY = 200;

/** Readers that never read while 1,000,000 events pass, one and many: what they cost the server, and another reader. */
export async function benchSlow(): Promise<readonly Line[]> {
  const alone: Pass[] = [];
  const beside: Pass[] = [];
  const amongMany: Pass[] = [];
  for (let count = 0; count < ROUNDS; count++) {
    alone.push(await pass(0));
    beside.push(await pass(1));
    amongMany.push(await pass(MANY));
  }
  const memory = (passes: readonly Pass[]): number => median(passes.map(({ mib }) => mib));
  const time = (passes: readonly Pass[]): number => median(passes.map(({ ms }) => ms));
  const line = (name: string, passes: readonly Pass[]): Line => ({
    name,
    figures: {
      "events/s": thousands((EVENTS * 1_000) / time(passes)),
      "server memory": `${round(memory(passes), 1)} MiB`,
    },
  });
  const growth = memory(beside) - memory(alone);
  const slowdown = time(beside) / time(alone);
  const each = (memory(amongMany) - memory(alone)) / MANY;
  return [
    line("one reader", alone),
    line("and one that never reads", beside),
    line(`and ${MANY} that never read`, amongMany),
    {
      name: "what it costs",
      figures: { memory: `${round(growth, 1)} MiB`, "time ratio": round(slowdown) },
      target: ["< 20 MiB, not slowed (<= 1.15)", growth < 20 && slowdown <= 1.15],
    },
    {
      name: `what each of ${MANY} costs`,
      figures: { memory: `${round(each, 2)} MiB`, "time ratio": round(time(amongMany) / time(alone)) },
    },
  ];
}

interface Pass {
  /** How long the reader took. */
  readonly ms: number;
  /** The server's memory in use after it. */
  readonly mib: number;
}

/** Lets the events pass; returns how long the reader took and the memory in use after them. */
async function pass(stuckReaders: number): Promise<Pass> {
  const server = await startFreeServer();
  const stuck = await startLoad();
  const reader = await startLoad();
  const url = await server.call("open", { durable: true });
  const id = await server.call("start", { events: EVENTS, batch: 100, everyMs: 0 });
  if (stuckReaders > 0) await stuck.call("open", { ...watching(url, id), streamsEach: stuckReaders, reads: false });
  await reader.call("open", watching(url, id));
  const began = performance.now();
  await server.call("go", [id]);
  await reader.call("ended");
  const ms = performance.now() - began;
  const { heapUsed, external } = await server.memory();
  await Promise.all([server, stuck, reader].map((peer) => peer.stop()));
  return { ms, mib: (heapUsed + external) / MIB };
}
