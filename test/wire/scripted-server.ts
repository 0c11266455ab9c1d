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

export interface ScriptedServerOptions extends Partial<ServerOptions> {
  /** How often a silent stream beats. Default 10,000. */
  readonly heartbeatMs?: number;
  /** Called when a stream of events has sent its first frame. */
  readonly onFirstFrame?: () => void;
}

/** Serves on a free port. */
export async function serveScripted(options: ScriptedServerOptions = {}): Promise<ScriptedServer> {
  const { heartbeatMs = 10_000, onFirstFrame = () => undefined, ...serverOptions } = options;
  const dataDir = mkdtempSync(join(tmpdir(), "harness-wire-"));
  const store = openMemoryStore();
  const limits = { heartbeatIntervalMs: heartbeatMs };
  const runtime = await openRuntime({ store, dataDir, limits, providers: [scriptedProvider()] });
  const watched = observed(runtime, onFirstFrame);
  const server = await startServer({ runtime: watched, port: 0, ...serverOptions });
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

/** The same runtime, which says when a watcher is asked for its second batch: the first one was sent by then. */
function observed(runtime: Runtime, onFirstFrame: () => void): Runtime {
  return over(runtime, {
    watchEvents: async (...args) => {
      const watcher = await runtime.watchEvents(...args);
      let asked = 0;
      return over(watcher, {
        next: async (signal) => {
          if (++asked === 2) onFirstFrame();
          return await watcher.next(signal);
        },
      });
    },
  });
}

/** `target` with some of its methods replaced. */
function over<T extends object>(target: T, methods: Partial<T>): T {
  return new Proxy(target, {
    get(_, key) {
      const value: unknown = Reflect.get(key in methods ? methods : target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
