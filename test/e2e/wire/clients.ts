import { join } from "node:path";
import type { Client } from "../../wire/cases.js";
import type { Outcome } from "../../wire/question.js";
import { GO_WIRE, PYTHON, startWorker, type Worker } from "../../wire/worker.js";

const WITHOUT_BIDI = ["Connect over HTTP/1.1", "Connect over HTTP/1.1, JSON"];

/** The clients in Go and Python over every protocol they speak, each language in a process of its own. */
export function startClients(): { readonly clients: readonly Client[]; close(): void } {
  const go = startWorker(GO_WIRE, ["cases"]);
  const python = startWorker(PYTHON, [join(import.meta.dirname, "../../wire/python/cases.py")]);
  return {
    clients: [
      ...clientsOf("Go", go, [
        "gRPC",
        "gRPC, grpc-go",
        "gRPC-Web",
        "Connect",
        "Connect, JSON",
        "Connect over HTTP/1.1",
      ]),
      ...clientsOf("Python", python, ["gRPC", "gRPC, asyncio", "Connect over HTTP/1.1, JSON"]),
    ],
    close() {
      go.close();
      python.close();
    },
  };
}

function clientsOf(language: string, worker: Worker, protocols: readonly string[]): Client[] {
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
