import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { createHarnessClient, eventTypeOf, followEvents, HarnessRpcError } from "../../../src/client-browser.js";

/** What somebody else's page does with a runtime on another origin; it writes what came of it into the page. */
const parameters = new URLSearchParams(location.search);
const output = document.querySelector("output");

async function run(): Promise<string> {
  const client = createHarnessClient({
    baseUrl: parameters.get("server") ?? "",
    protocol: parameters.get("protocol") === "grpc-web" ? "grpc-web" : "connect",
    retry: { callGiveUpMs: 0 },
  });
  const { execution } = await client.executions.startExecution({
    providerId: "scripted",
    input: { text: "hello there" },
  });
  const words: string[] = [];
  for await (const event of followEvents(client, { executionId: execution?.id ?? "" })) {
    if (eventTypeOf(event) === "output.text.delta" && event.payload.case === "outputTextDelta") {
      words.push(event.payload.value.text);
    }
  }
  const failure: unknown = await client.executions.getExecution({ executionId: "nowhere" }).catch((error) => error);
  const reason = failure instanceof HarnessRpcError ? ErrorReason[failure.reason] : "nothing";
  return `said: ${words.join("")}, then ${reason} in detail`;
}

const outcome = await run().catch((error: unknown) => `refused: ${error}`);
if (output !== null) output.textContent = outcome;
