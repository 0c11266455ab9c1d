import { join } from "node:path";
import { afterAll } from "vitest";
import { type Client, testCases } from "../../wire/cases.js";
import type { Outcome } from "../../wire/question.js";
import { GO_WIRE, PYTHON, startWorker } from "../../wire/worker.js";

const go = startWorker(GO_WIRE, ["cases"]);
const python = startWorker(PYTHON, [join(import.meta.dirname, "../../wire/python/cases.py")]);
afterAll(() => {
  go.close();
  python.close();
});

const WITHOUT_BIDI = ["Connect over HTTP/1.1", "Connect over HTTP/1.1, JSON"];

function clientsOf(language: string, worker: typeof go, protocols: readonly string[]): Client[] {
  return protocols.map((protocol) => ({
    name: `${language} over ${protocol}`,
    protocol,
    bidi: !WITHOUT_BIDI.includes(protocol),
    ask: async (question) => {
      const answer = (await worker.ask(question)) as readonly Outcome[] | { readonly failure: string };
      if ("failure" in answer) throw new Error(answer.failure);
      return answer;
    },
  }));
}

testCases(() => [
  ...clientsOf("Go", go, ["gRPC", "gRPC, grpc-go", "gRPC-Web", "Connect", "Connect, JSON", "Connect over HTTP/1.1"]),
  ...clientsOf("Python", python, ["gRPC", "gRPC, asyncio", "Connect over HTTP/1.1, JSON"]),
]);
