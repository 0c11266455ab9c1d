/** What runs in the page: the client for browsers, with results as plain data that a test can take out. */
import type { JsonObject } from "@bufbuild/protobuf";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import {
  attach,
  type BrowserClientOptions,
  createHarnessClient,
  eventTypeOf,
  followEvents,
  HarnessRpcError,
  runToEnd,
} from "../../../src/client-browser.js";

/** A failure as plain data. */
export interface Failure {
  readonly name: string;
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** How many frames came before it. */
  readonly frames: number;
}

const request = (config: JsonObject) => ({ providerId: "scripted", input: { text: "go" }, config });

function failureOf(error: unknown, frames: number): Failure {
  if (!(error instanceof HarnessRpcError)) throw error;
  return { name: error.name, reason: ErrorReason[error.reason] ?? "", metadata: error.metadata, frames };
}

const functions = {
  /** Starts and follows an execution, approves what it asks for. */
  async run(options: BrowserClientOptions, config: JsonObject) {
    const sequences: number[] = [];
    let text = "";
    const execution = await runToEnd(createHarnessClient(options), request(config), {
      onEvent: ({ sequence, payload }) => {
        sequences.push(sequence);
        Object.assign(globalThis, { lastSequence: sequence });
        if (payload.case === "outputTextDelta") text += payload.value.text;
      },
      onAction: async () => ({ approved: true }),
    });
    return { executionId: execution.id, sequences, text, state: ExecutionState[execution.state] };
  },

  /** Asks for an execution until this many answers came; returns how many of them were that execution, as it is. */
  async ask(options: BrowserClientOptions, executionId: string, answers: number) {
    const { executions } = createHarnessClient(options);
    let whole = 0;
    for (let answer = 0; answer < answers; answer++) {
      const { execution } = await executions.getExecution({ executionId });
      if (execution?.id === executionId && execution.finalOutput === "go") whole++;
    }
    return whole;
  },

  /** Asks this often for an execution that does not exist; returns the reasons of the refusals. */
  async askMissing(options: BrowserClientOptions, times: number) {
    const { executions } = createHarnessClient(options);
    const reasons: string[] = [];
    for (let asked = 0; asked < times; asked++) {
      const refusal = await executions
        .getExecution({ executionId: "exe_missing" })
        .catch((error) => failureOf(error, 0));
      reasons.push("reason" in refusal ? refusal.reason : "");
    }
    return reasons;
  },

  /** Attaches to a start, sends, pings, cancels; returns the types of the events. */
  async command(options: BrowserClientOptions, config: JsonObject) {
    const attachment = await attach(createHarnessClient(options), { start: request(config) });
    await attachment.ping();
    const { inputId } = await attachment.sendInput({ text: "more" }, InputMode.FOLLOW_UP);
    await attachment.cancel("enough");
    const types: string[] = [];
    for await (const event of attachment) types.push(eventTypeOf(event));
    return { inputId, types };
  },

  /** Follows an execution that does not exist. */
  async followMissing(options: BrowserClientOptions) {
    try {
      for await (const event of followEvents(createHarnessClient(options), { executionId: "exe_missing" })) {
        throw new Error(`event ${event.sequence} of nothing`);
      }
      throw new Error("followed nothing to its end");
    } catch (error) {
      return failureOf(error, 0);
    }
  },

  /** Starts an execution that waits, and watches it over one stream until that fails. */
  async watchUntilFailure(options: BrowserClientOptions) {
    const { executions } = createHarnessClient(options);
    const { execution } = await executions.startExecution(request({ steps: [{ await_steer: true }] }));
    let frames = 0;
    try {
      for await (const _ of executions.watchEvents({ executionId: execution?.id ?? "" })) frames++;
      throw new Error("the stream ended well");
    } catch (error) {
      return failureOf(error, frames);
    }
  },
};

export type PageFunctions = typeof functions;
Object.assign(globalThis, { harness: functions });
