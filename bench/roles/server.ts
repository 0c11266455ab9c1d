// The server under test: a runtime with a provider that emits what the bench tells it to.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { StartExecutionRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { ProviderManifestSchema, SupportLevel, Topology } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { countBuffersWithHeap } from "../../src/cli/serve/collector.js";
import { openRuntime } from "../../src/core/open-runtime.js";
import type { Provider, ProviderContext, ProviderEvent } from "../../src/core/provider.js";
import type { Runtime } from "../../src/core/runtime.js";
import { LOCAL } from "../../src/server/auth.js";
import { startServer } from "../../src/server/server.js";
import { openMemoryStore } from "../../src/store/memory.js";
import { openSqliteStore } from "../../src/store/sqlite.js";
import { textOf } from "../events.js";
import { play } from "../peer.js";

/** How an execution emits, once it is told to go. */
export interface Emission {
  readonly events: number;
  /** Events in one append. */
  readonly batch: number;
  /** Milliseconds between two appends; 0 as fast as they are stored. */
  readonly everyMs: number;
  /** Each text begins with the nanoseconds of the system's monotonic clock at which it was emitted. */
  readonly stamped?: boolean;
}

countBuffersWithHeap();

let runtime: Runtime;
const gates = new Map<string, () => void>();

const provider: Provider = {
  manifest: create(ProviderManifestSchema, {
    id: "bench",
    version: "1",
    topologies: [Topology.EMBEDDED],
    capabilities: { "event.streaming": SupportLevel.NATIVE },
  }),
  capacity: 10_000,
  async run(context) {
    await new Promise<void>((resolve) => gates.set(context.execution.id, resolve));
    await emitAll(context, context.config as unknown as Emission);
    return { status: "succeeded", finalOutput: "" };
  },
};

async function emitAll(context: ProviderContext, { events, batch, everyMs, stamped }: Emission): Promise<void> {
  const began = performance.now();
  for (let sent = 0; sent < events; sent += batch) {
    const due = began + (sent / batch) * everyMs;
    const waitMs = due - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const stamp = stamped === true ? `${process.hrtime.bigint()} ` : "";
    const deltas = Array.from({ length: Math.min(batch, events - sent) }, (_, index): ProviderEvent => {
      return { case: "outputTextDelta", value: { text: stamp + textOf(sent + index), itemId: "" } };
    });
    const stored = context.emit(deltas);
    // A paced provider does not wait for the disk: its model does not either.
    if (everyMs === 0) await stored;
    else stored.catch(() => undefined);
  }
}

play({
  async open({ durable, sideDoor }: { durable: boolean; sideDoor?: boolean }) {
    const folder = mkdtempSync(join(tmpdir(), "harness-bench-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    const store = durable ? await openSqliteStore({ dataDir: folder }) : openMemoryStore();
    runtime = await openRuntime({ store, providers: [provider], dataDir: folder });
    const server = await startServer({ runtime, port: 0, ...(sideDoor !== undefined && { sideDoor }) });
    return server.url;
  },
  /** Starts an execution, which waits. */
  async start(emission: Emission): Promise<string> {
    const request = create(StartExecutionRequestSchema, {
      providerId: "bench",
      input: { text: "go" },
      config: { ...emission } as unknown as JsonObject,
    });
    const { id } = await runtime.startExecution(LOCAL, request);
    while (!gates.has(id)) await new Promise((resolve) => setImmediate(resolve));
    return id;
  },
  /** Lets executions emit; does not wait for their end. */
  go(ids: readonly string[]): void {
    for (const id of ids) gates.get(id)?.();
  },
  /** Waits for an execution's end; returns its last sequence. */
  async ended(id: string): Promise<number> {
    for (;;) {
      const { endTime, lastSequence } = await runtime.waitExecution(LOCAL, id, 600_000);
      if (endTime !== undefined) return lastSequence;
    }
  },
});
