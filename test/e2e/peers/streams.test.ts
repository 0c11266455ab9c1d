import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askTypeScript } from "../../wire/ask.js";
import { mustFind } from "../../wire/like.js";
import { type Ask, eventsOf, type Outcome } from "../../wire/question.js";
import { type ScriptedServer, serveScripted } from "../../wire/scripted-server.js";
import { GO_WIRE, PYTHON, startWorker } from "../../wire/worker.js";
import { type Nginx, startNginx } from "./nginx.js";

const CASES_PY = join(import.meta.dirname, "../../wire/python/cases.py");
const NOTHING: Outcome = { responses: [], bytes: [] };

/** Clients with the keep-alives and limits that their libraries have by default, each in a process of its own. */
const CLIENTS: readonly [name: string, protocol: string, program: string, args: readonly string[]][] = [
  ["Go, grpc-go", "gRPC, grpc-go", GO_WIRE, ["cases"]],
  ["Go, Connect", "gRPC", GO_WIRE, ["cases"]],
  ["Python, threads", "gRPC", PYTHON, [CASES_PY]],
  ["Python, asyncio", "gRPC, asyncio", PYTHON, [CASES_PY]],
];

let server: ScriptedServer;
let nginx: Nginx;
const workers = CLIENTS.map(([, , program, args]) => startWorker(program, args));
beforeAll(async () => {
  server = await serveScripted();
  nginx = await startNginx(server.port);
});
afterAll(async () => {
  for (const worker of workers) worker.close();
  await nginx?.close();
  await server?.close();
});

async function start(config: JsonObject): Promise<string> {
  const request = { provider_id: "scripted", input: { text: "go" }, config };
  const common = { url: server.url, protocol: "gRPC", token: "", service: "ExecutionService" };
  const [started] = await askTypeScript({ ...common, method: "StartExecution", requests: [request] });
  return String(mustFind([started ?? NOTHING], "execution.id"));
}

/** Watches an execution over one stream, with no further try. */
async function watch(ask: Ask, url: string, protocol: string, executionId: string): Promise<Outcome> {
  const requests = [{ execution_id: executionId }];
  const call = { url, protocol, token: "", service: "ExecutionService", method: "WatchEvents", requests };
  return (await ask(call))[0] ?? NOTHING;
}

function everyClient(): { readonly name: string; readonly protocol: string; readonly ask: Ask }[] {
  const others = CLIENTS.map(([name, protocol], index) => ({
    name,
    protocol,
    ask: async (question: unknown) => (await workers[index]?.ask(question)) as readonly Outcome[],
  }));
  return [...others, { name: "TypeScript", protocol: "gRPC", ask: askTypeScript }];
}

function expectWhole(name: string, outcome: Outcome): void {
  expect(outcome.error, name).toBeUndefined();
  expect(eventsOf(outcome).at(-1)?.type, name).toBe("run.completed");
}

describe("W01 one stream", () => {
  const busySeconds = process.env["SOAK"] === "1" ? 600 : 20;

  // A word takes its pace and the time to store it: on a machine that is busy, twice as long as the pace and more.
  test(`that is busy for ${busySeconds} s is never told to be calm`, {
    timeout: (busySeconds * 4 + 60) * 1_000,
  }, async () => {
    const words = Array.from({ length: busySeconds * 100 }, (_, word) => `w${word}`).join(" ");
    const id = await start({ steps: [{ text: { text: words, pace_ms: 10 } }] });
    const outcomes = await Promise.all(
      everyClient().map(async ({ name, protocol, ask }) => [name, await watch(ask, server.url, protocol, id)] as const),
    );
    for (const [name, outcome] of outcomes) {
      expectWhole(name, outcome);
      expect(eventsOf(outcome).length, name).toBe(busySeconds * 100 + 5);
    }
  });

  test("behind nginx outlives its timeouts of 60 s though nothing happens", { timeout: 120_000 }, async () => {
    const id = await start({ steps: [{ text: "before" }, { sleep_ms: 65_000 }, { text: "after" }] });
    const grpc = everyClient().map(
      async ({ name, protocol, ask }) => [name, await watch(ask, nginx.grpcUrl, protocol, id)] as const,
    );
    const web = ["Connect over HTTP/1.1, JSON", "gRPC-Web over HTTP/1.1"].map(
      async (protocol) => [protocol, await watch(askTypeScript, nginx.httpUrl, protocol, id)] as const,
    );
    for (const [name, outcome] of await Promise.all([...grpc, ...web])) {
      expectWhole(name, outcome);
      expect(outcome.responses.length, name).toBeGreaterThan(6);
    }
  });

  test("behind nginx over HTTP/1.1 shows its first frame at once", async () => {
    const id = await start({ steps: [{ approval: { title: "Well?" } }] });
    const call = { url: nginx.httpUrl, token: "", service: "ExecutionService", method: "WatchEvents" };
    for (const protocol of ["Connect over HTTP/1.1, JSON", "gRPC-Web over HTTP/1.1"]) {
      const question = { ...call, protocol, requests: [{ execution_id: id }], until: "action_required" };
      expect((await askTypeScript(question))[0]?.error, protocol).toBeUndefined();
    }
  });
});
