import { createConnectTransport } from "@connectrpc/connect-node";
import { inject } from "vitest";
import { createClientFor, type HarnessClient } from "../../../src/client/client.js";
import { openRuntime } from "../../../src/core/open-runtime.js";
import type { Provider } from "../../../src/core/provider.js";
import type { Runtime, RuntimeLimits } from "../../../src/core/runtime.js";
import type { Store } from "../../../src/core/store.js";
import { scriptedProvider } from "../../../src/providers/scripted/scripted.js";
import { openConsole } from "../../../src/server/console-files.js";
import { type RunningServer, type ServerOptions, startServer } from "../../../src/server/server.js";
import { openMemoryStore } from "../../../src/store/memory.js";

/** A server with the console, and a client that does from outside what others would. */
export interface Site {
  readonly url: string;
  readonly client: HarnessClient;
  readonly runtime: Runtime;
  readonly server: RunningServer;
  /** Ends the server at once and starts another on the same port, with the same store. */
  restart(): Promise<void>;
  /** Ends the server at once. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

export interface SiteOptions {
  readonly server?: Partial<ServerOptions>;
  readonly providers?: readonly Provider[];
  readonly limits?: Partial<RuntimeLimits>;
  readonly token?: string;
  /** Changes the runtime that the server sees. */
  readonly wrap?: (runtime: Runtime) => Runtime;
}

/** Serves a runtime in memory, with the scripted provider, on a free port. */
export async function openSite(options: SiteOptions = {}): Promise<Site> {
  const directory = inject("consoleFolder");
  const store: Store = openMemoryStore();
  const { providers = [scriptedProvider()], limits = {} } = options;
  let port = 0;
  const open = async (): Promise<{ runtime: Runtime; server: RunningServer }> => {
    const inner = await openRuntime({ store, providers, limits });
    const runtime = options.wrap?.(inner) ?? inner;
    const server = await startServer({ runtime, port, pages: openConsole(directory), ...options.server });
    port = server.port;
    return { runtime: inner, server };
  };
  let now = await open();
  const stop = async (): Promise<void> => {
    await now.server.close(0);
    await now.runtime.close(0);
  };
  const baseUrl = now.server.url;
  const { token } = options;
  const transport = createConnectTransport({
    baseUrl,
    httpVersion: "2",
    interceptors:
      token === undefined
        ? []
        : [
            (next) => (request) => {
              request.header.set("Authorization", `Bearer ${token}`);
              return next(request);
            },
          ],
  });
  return {
    url: baseUrl,
    client: createClientFor(transport, true),
    get runtime() {
      return now.runtime;
    },
    get server() {
      return now.server;
    },
    stop,
    async restart() {
      await stop();
      now = await open();
    },
    async close() {
      await stop();
      await store.close();
    },
  };
}
