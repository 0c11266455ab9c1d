// usage: appender.child.ts FOLDER      appends for ever, and prints `execution last` for each write that is acknowledged
import { openSqliteStore } from "../../src/store/sqlite.js";
import { appending, creation, ending } from "./fixtures.js";

const WRITERS = 8;
/** How many writes an execution gets before it ends, so that ended and live ones are joined while the process is killed. */
const WRITES = 40;

const [dataDir = ""] = process.argv.slice(2);
const store = await openSqliteStore({ dataDir });
console.log("ready");
await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));

async function write(writer: number): Promise<void> {
  for (let round = 0; ; round++) {
    const key = { tenantId: "tenant", executionId: `exe_${process.pid}_${writer}_${round}` };
    const side = { resumeState: Buffer.from("1") };
    await store.append(
      creation(key, {}, { side, idempotency: { scope: key.executionId, digest: "d", resourceId: "r" } }),
    );
    acknowledge(key.executionId, 1);
    let last = 1;
    for (let number = 0; number < WRITES; number++) {
      const count = 1 + ((writer + number) % 5);
      const resumeState = Buffer.from(String(last + count));
      await store.append(appending(key, last, count, { side: { resumeState } }));
      last += count;
      acknowledge(key.executionId, last);
    }
    if (round % 2 === 0) await store.append(ending(key, last));
  }
}

/** Written at once, by a call that returns when the parent has it: nothing that was printed is lost with the process. */
function acknowledge(executionId: string, last: number): void {
  process.stdout.write(`${executionId} ${last}\n`);
}
