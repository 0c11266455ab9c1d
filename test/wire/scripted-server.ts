import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRuntime } from "../../src/core/open-runtime.js";
import type { Runtime } from "../../src/core/runtime.js";
import { scriptedProvider } from "../../src/providers/scripted/scripted.js";
import { type RunningServer, type ServerOptions, startServer } from "../../src/server/server.js";
import { openMemoryStore } from "../../src/store/memory.js";

/** A runtime with the scripted provider, behind a server of this process. */
export interface ScriptedServer {
  readonly url: string;
  readonly port: number;
  readonly runtime: Runtime;
  readonly server: RunningServer;
  close(): Promise<void>;
}

/** Serves on a free port. Heartbeats come every `heartbeatMs`, 10 s by default. */
export async function serveScripted(
  options: Partial<ServerOptions> & { readonly heartbeatMs?: number } = {},
): Promise<ScriptedServer> {
  const { heartbeatMs = 10_000, ...serverOptions } = options;
  const dataDir = mkdtempSync(join(tmpdir(), "harness-wire-"));
  const store = openMemoryStore();
  const limits = { heartbeatIntervalMs: heartbeatMs };
  const runtime = await openRuntime({ store, dataDir, limits, providers: [scriptedProvider()] });
  const server = await startServer({ runtime, port: 0, ...serverOptions });
  return {
    url: server.url,
    port: server.port,
    runtime,
    server,
    async close() {
      await server.close(0);
      await runtime.close(0);
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
