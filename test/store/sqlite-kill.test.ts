import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import type { Store } from "../../src/core/store.js";
import { SOURCE_OPTIONS } from "../../src/store/sqlite/threads.js";
import { openSqliteStore } from "../../src/store/sqlite.js";
import { range, readSequences, text } from "./fixtures.js";
import { makeFolder, removeFolders } from "./folders.js";

const ROUNDS = process.env["SOAK"] === "1" ? 200 : 8;
const APPENDER = fileURLToPath(new URL("./appender.child.ts", import.meta.url));

afterAll(removeFolders);

test(`S01 killed (−9) at ${ROUNDS} random points, nothing that was acknowledged is missing`, {
  timeout: ROUNDS * 10_000,
}, async () => {
  const dataDir = makeFolder();
  const acknowledged = new Map<string, number>();
  for (const round of range(1, ROUNDS)) {
    const before = acknowledged.size;
    await appendAndKill(dataDir, acknowledged, 1 + Math.floor(Math.random() * 400));
    expect(acknowledged.size, `round ${round} wrote something`).toBeGreaterThan(before);
    const store = await openSqliteStore({ dataDir });
    await checkAll(store, acknowledged);
    await store.close();
  }
});

/** Runs the appender until it has acknowledged `writes`, then kills it; what it still printed counts. */
async function appendAndKill(dataDir: string, acknowledged: Map<string, number>, writes: number): Promise<void> {
  const args = ["--experimental-transform-types", ...SOURCE_OPTIONS, APPENDER, dataDir];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  let left = writes;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === "ready") continue;
    const [executionId = "", last = ""] = line.split(" ");
    // The very last line may have been cut by the kill.
    if (last !== "") acknowledged.set(executionId, Math.max(Number(last), acknowledged.get(executionId) ?? 0));
    if (--left === 0) kill(child);
  }
  await ended;
  expect(child.signalCode).toBe("SIGKILL");
}

function kill(child: ChildProcess): void {
  child.kill("SIGKILL");
}

async function checkAll(store: Store, acknowledged: ReadonlyMap<string, number>): Promise<void> {
  for (const [executionId, last] of acknowledged) {
    const key = { tenantId: "tenant", executionId };
    const stored = await store.getExecution(key);
    expect(stored?.lastSequence).toBeGreaterThanOrEqual(last);
    expect(await readSequences(store, key)).toEqual(range(1, stored!.lastSequence));
    expect(await store.findIdempotent("tenant", executionId)).toBeDefined();
    const { resumeState } = await store.getSideRows(key);
    expect(Number(text(resumeState))).toBeGreaterThanOrEqual(Math.min(last, stored!.lastSequence - 1));
  }
}
