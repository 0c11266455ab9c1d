// Starts an execution, follows it, answers its approval, and goes on after a lost connection.
import { createHarnessClient, eventTypeOf, followEvents, HarnessRpcError, respond } from "harness-runtime/client";
import { ErrorReason } from "harness-runtime/gen/harnessruntime/v1/errors_pb.js";
import type { Event } from "harness-runtime/gen/harnessruntime/v1/event_pb.js";
import { ExecutionState } from "harness-runtime/gen/harnessruntime/v1/execution_pb.js";

const client = createHarnessClient({ baseUrl: process.env["HARNESS_URL"] ?? "http://127.0.0.1:4310" });

/** Shows an event, and answers it when it is a question. */
async function take(event: Event): Promise<void> {
  const { payload, sequence, executionId } = event;
  if (payload.case === "outputTextDelta") process.stdout.write(payload.value.text);
  else console.log(`\n[${sequence}] ${eventTypeOf(event)}`);
  if (payload.case !== "actionRequired") return;
  const { id: actionId = "", title = "" } = payload.value.action ?? {};
  console.log(`${title} yes`);
  try {
    await respond(client, { executionId, actionId }, { approved: true });
  } catch (error) {
    // Events may be shown again after a restart of this program: somebody, or this very program, was faster.
    const { reason } = error instanceof HarnessRpcError ? error : { reason: undefined };
    if (reason !== ErrorReason.ACTION_ALREADY_RESOLVED) throw error;
  }
}

// The start bears an idempotency key of its own: sent again after a failure of the network, it starts no second execution.
const { execution } = await client.executions.startExecution({
  providerId: "scripted",
  input: { text: "Clean up." },
  config: {
    steps: [
      { text: { text: "I found three old logs.", pace_ms: 20 } },
      { approval: { title: "Delete 3 files?", payload: { files: ["a.log", "b.log", "c.log"] } } },
      { text: { text: " They are gone.", pace_ms: 20 } },
    ],
  },
});
const executionId = execution?.id ?? "";

// Lost connections are mended by followEvents. A program that was restarted goes on after the last sequence that it kept.
let afterSequence = 0;
for await (const event of followEvents(client, { executionId })) {
  await take(event);
  afterSequence = event.sequence;
  if (afterSequence === 5) break;
}
console.log(`\n(restarted: going on after ${afterSequence})`);
for await (const event of followEvents(client, { executionId, afterSequence })) await take(event);

const ended = await client.executions.getExecution({ executionId });
const { state = ExecutionState.UNSPECIFIED, finalOutput } = ended.execution ?? {};
console.log(`${ExecutionState[state]}: ${finalOutput}`);
process.exitCode = state === ExecutionState.SUCCEEDED ? 0 : 1;
