import type { JsonObject } from "@bufbuild/protobuf";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { Site } from "./site.js";

/** Starts a scripted execution from outside; resolves with its id. */
export async function startScript(
  { client }: Pick<Site, "client">,
  text: string,
  steps: readonly JsonObject[],
  more: { readonly labels?: Record<string, string> } = {},
): Promise<string> {
  const config = { steps: [...steps] };
  const { execution } = await client.executions.startExecution({
    providerId: "scripted",
    input: { text },
    config,
    ...more,
  });
  if (execution === undefined) throw new Error("no execution");
  return execution.id;
}

/** Resolves once an execution is in a state. */
export async function untilState(
  { client }: Pick<Site, "client">,
  executionId: string,
  state: ExecutionState,
): Promise<void> {
  for await (const frame of client.executions.watchEvents({ executionId })) {
    if (frame.state === state && frame.nextAfterSequence === frame.headSequence) return;
  }
  throw new Error(`${executionId} ended and never was ${ExecutionState[state]}`);
}

export const APPROVAL: JsonObject = {
  approval: {
    title: "Delete 3 old logs?",
    description: "They are old.",
    payload: { command: "rm *.log" },
    if_denied: "continue",
  },
};
