import { create, toBinary } from "@bufbuild/protobuf";
import { ErrorReason, FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type Event, EventSchema } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import { StartExecutionRequestSchema } from "../../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { type Execution, ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import { SupportLevel, Topology } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { isHarnessError, type Reason } from "../../core/errors.js";
import { type CheckedRun, fail, levelOf, type Scene, startRun } from "./scene.js";
import type { Situations } from "./situation.js";

/** One sentence that holds of every provider that declares the capability. */
export interface Check {
  /** The sentence; a behaviour of the contract begins with its number. */
  readonly title: string;
  /** Skipped where the manifest calls it UNSUPPORTED; its measured level where it fails is UNSUPPORTED. */
  readonly capability?: string;
  /** Skipped where the provider cannot be brought there. */
  readonly situation?: keyof Situations;
  /** A fault that it needs; skipped where that cannot be made. */
  readonly fault?: "kill" | "noise";
  /** Throws what is wrong; may resolve with a lower level than the declared one. */
  run(scene: Scene): Promise<SupportLevel | undefined>;
}

/** All checks, in an order in which each can be understood by those before it. */
export const CHECKS: readonly Check[] = [
  {
    title: "L03 an execution that ends by itself succeeds, with its final output as the last text",
    async run(scene) {
      const run = await startRun(scene, scene.situations.text);
      const execution = await mustEnd(run, ExecutionState.SUCCEEDED);
      const [done, completed] = run.events.slice(-2).map(({ payload }) => payload);
      if (done?.case !== "outputTextDone" || completed?.case !== "runCompleted")
        fail("it does not end with its output and run_completed");
      const outputs = [done.value.text, completed.value.finalOutput, execution.finalOutput];
      if (new Set(outputs).size !== 1) fail(`its outputs differ: ${JSON.stringify(outputs)}`);
      return undefined;
    },
  },
  {
    title: "output is streamed: it comes in pieces, while the execution runs",
    capability: "event.streaming",
    async run(scene) {
      const run = await startRun(scene, scene.situations.long);
      await run.until("text", () => run.count("outputTextDelta") > 0);
      const isStreamed = await run
        .until("more text", () => run.count("outputTextDelta") > 1)
        .then(
          () => true,
          () => false,
        );
      await run.cancel();
      await run.end();
      return isStreamed ? undefined : SupportLevel.DEGRADED;
    },
  },
  {
    title: "R03 events are the same when they are read again, from the beginning and from any place",
    capability: "event.replay",
    async run(scene) {
      const run = await startRun(scene, scene.situations.text);
      await run.end();
      for (const after of [0, 1, run.events.length - 1, run.events.length]) {
        const again = await run.replay(after);
        if (!sameEvents(again, run.events.slice(after))) fail(`the events after ${after} differ`);
      }
      return undefined;
    },
  },
  {
    title: "C01 a running execution is cancelled, and nothing of it is left running",
    capability: "execution.cancel",
    async run(scene) {
      const run = await startRun(scene, scene.situations.long);
      await run.until("text", () => run.text !== "");
      await run.cancel("enough");
      const { cancel, containment } = await mustEnd(run, ExecutionState.CANCELLED);
      if (cancel?.reason !== "enough") fail(`its reason is ${JSON.stringify(cancel?.reason)}`);
      if (containment !== undefined && containment.escaped.length > 0)
        fail(`still running: ${containment.escaped.join(", ")}`);
      const isProcess = scene.manifest.topologies.includes(Topology.SUBPROCESS);
      if (isProcess && containment === undefined) fail("run_cancelled does not say what became of its processes");
      return cancel.cleanupError === "" ? undefined : SupportLevel.DEGRADED;
    },
  },
  {
    title: "C01 an execution is cancelled at whatever moment of its start",
    capability: "execution.cancel",
    async run(scene) {
      for (const delayMs of [0, 20, 200, 1_000]) {
        const run = await startRun(scene, scene.situations.long);
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        await run.cancel();
        await mustEnd(run, ExecutionState.CANCELLED);
      }
      return undefined;
    },
  },
  {
    title: "C02 of many cancels at once the first counts, and one terminal event follows",
    capability: "execution.cancel",
    async run(scene) {
      const run = await startRun(scene, scene.situations.long);
      await run.until("text", () => run.text !== "");
      await Promise.all(Array.from({ length: 20 }, (_, index) => run.cancel(`cancel ${index}`)));
      const { cancel } = await mustEnd(run, ExecutionState.CANCELLED);
      if (cancel?.reason !== "cancel 0") fail(`its reason is ${JSON.stringify(cancel?.reason)}`);
      return undefined;
    },
  },
  {
    title: "C04 a cancel after the end changes nothing",
    capability: "execution.cancel",
    async run(scene) {
      const run = await startRun(scene, scene.situations.text);
      const { lastSequence } = await mustEnd(run, ExecutionState.SUCCEEDED);
      await run.cancel();
      const after = await scene.runtime.getExecution(scene.caller, run.id);
      if (after.lastSequence !== lastSequence || after.state !== ExecutionState.SUCCEEDED) fail("it changed");
      return undefined;
    },
  },
  {
    title: "A02 an approval parks the execution until it is answered, and a second answer is refused",
    capability: "action.approval",
    situation: "approval",
    async run(scene) {
      const run = await startApproval(scene);
      const action = await run.action();
      const parked = await scene.runtime.getExecution(scene.caller, run.id);
      if (parked.state !== ExecutionState.AWAITING_APPROVAL) fail(`its state is ${ExecutionState[parked.state]}`);
      await run.respond(action.id, { approved: true });
      await refused(ErrorReason.ACTION_ALREADY_RESOLVED, () => run.respond(action.id, { approved: false }));
      await answerRest(run);
      await mustEnd(run, ExecutionState.SUCCEEDED);
      return undefined;
    },
  },
  {
    title: "a denied approval is not the end of the execution, nor a fault",
    capability: "action.approval",
    situation: "approval",
    async run(scene) {
      const run = await startApproval(scene);
      await run.respond((await run.action()).id, { approved: false });
      await answerRest(run);
      await mustEnd(run, ExecutionState.SUCCEEDED);
      return undefined;
    },
  },
  {
    title: "A05 an approval that is open when its execution is cancelled takes no answer any more",
    capability: "action.approval",
    situation: "approval",
    async run(scene) {
      const run = await startApproval(scene);
      const action = await run.action();
      await run.cancel();
      await mustEnd(run, ExecutionState.CANCELLED);
      await refused(ErrorReason.ACTION_CLOSED, () => run.respond(action.id, { approved: true }));
      return undefined;
    },
  },
  {
    title: "A02 an input parks the execution until it is answered",
    capability: "action.input",
    situation: "input",
    async run(scene) {
      const { input, inputValue = "yes", text } = scene.situations;
      const run = await startRun(scene, input ?? text);
      await run.respond((await run.action()).id, { value: inputValue });
      await mustEnd(run, ExecutionState.SUCCEEDED);
      return undefined;
    },
  },
  {
    title: "N01 a follow_up runs as the next turn of the same execution",
    capability: "input.follow_up",
    async run(scene) {
      const run = await startRun(scene, scene.situations.long);
      await run.until("text", () => run.text !== "");
      await run.send(scene.situations.text, InputMode.FOLLOW_UP);
      await run.cancel();
      await run.end();
      const second = await startRun(scene, scene.situations.text);
      await second.send(scene.situations.text, InputMode.FOLLOW_UP).catch(() => undefined);
      await mustEnd(second, ExecutionState.SUCCEEDED);
      if (second.count("inputAccepted") !== second.count("inputConsumed")) fail("an accepted follow_up was not run");
      if (run.count("inputDropped") !== 1) fail("the follow_up of a cancelled execution was not dropped with an event");
      return undefined;
    },
  },
  {
    title: "N01 a replace interrupts the turn, and its input runs instead",
    capability: "input.replace",
    async run(scene) {
      const run = await startRun(scene, scene.situations.long);
      await run.until("text", () => run.text !== "");
      await run.send(scene.situations.text, InputMode.REPLACE);
      const { turn } = await mustEnd(run, ExecutionState.SUCCEEDED);
      if (turn !== 2) fail(`it ended in turn ${turn}`);
      return undefined;
    },
  },
  {
    title: "N01 a steer is taken in by the running turn",
    capability: "input.steer",
    situation: "steer",
    async run(scene) {
      const run = await startRun(scene, scene.situations.steer ?? scene.situations.long);
      await run.until("text", () => run.text !== "");
      await run.send({ input: "Stop here, and say that you are done." }, InputMode.STEER);
      const { turn } = await mustEnd(run, ExecutionState.SUCCEEDED);
      return turn === 1 && run.count("inputConsumed") === 1 ? undefined : SupportLevel.DEGRADED;
    },
  },
  {
    title: "executions of one conversation run one at a time, in order",
    capability: "conversation.continuity",
    async run(scene) {
      const first = await startRun(scene, scene.situations.long);
      await first.until("text", () => first.text !== "");
      const second = await startRun(scene, scene.situations.text, { conversationId: first.conversationId });
      const { state } = await scene.runtime.getExecution(scene.caller, second.id);
      if (state !== ExecutionState.QUEUED) fail(`the second is ${ExecutionState[state]} while the first runs`);
      await first.cancel();
      await mustEnd(first, ExecutionState.CANCELLED);
      await mustEnd(second, ExecutionState.SUCCEEDED);
      return undefined;
    },
  },
  {
    title: "a conversation remembers what was said in its earlier executions",
    capability: "conversation.continuity",
    situation: "memory",
    async run(scene) {
      const { memory, text } = scene.situations;
      const told = await startRun(scene, memory?.tell ?? text);
      await mustEnd(told, ExecutionState.SUCCEEDED);
      const asked = await startRun(scene, memory?.ask ?? text, { conversationId: told.conversationId });
      await mustEnd(asked, ExecutionState.SUCCEEDED);
      return asked.text.includes(memory?.answer ?? "") ? undefined : SupportLevel.DEGRADED;
    },
  },
  {
    title: "F01 each artifact that is listed has one event with the same data",
    capability: "artifact.list",
    situation: "artifact",
    async run(scene) {
      const run = await startRun(scene, scene.situations.artifact ?? scene.situations.text);
      await mustEnd(run, ExecutionState.SUCCEEDED);
      const announced = run.events.flatMap(({ payload }) =>
        payload.case === "artifactCreated" && payload.value.artifact ? [payload.value.artifact.id] : [],
      );
      if (announced.length === 0) fail("it announced none");
      if (new Set(announced).size < announced.length) fail("it announced one twice");
      for (const id of announced) await scene.runtime.getArtifact(scene.caller, run.id, id);
      return undefined;
    },
  },
  {
    title: "an execution whose process is killed (−9) goes on with the next attempt, or says that it was lost",
    fault: "kill",
    async run(scene) {
      const run = await startRun(scene, scene.situations.long);
      await run.until("text", () => run.text !== "");
      await scene.kill?.();
      if (levelOf(scene, "execution.resume") === SupportLevel.UNSUPPORTED) {
        const { error } = await mustEnd(run, ExecutionState.FAILED);
        if (error?.reason !== FailureReason.PROVIDER_LOST) fail(`its reason is ${FailureReason[error?.reason ?? 0]}`);
        return undefined;
      }
      await run.until("run_resumed", () => run.count("runResumed") > 0);
      await run.cancel();
      await mustEnd(run, ExecutionState.CANCELLED);
      return undefined;
    },
  },
  {
    title: "noise and a line of 10 MiB in its harness's output change nothing",
    fault: "noise",
    async run(scene) {
      const { noisyProviderId: providerId = "" } = scene;
      const run = await startRun(scene, scene.situations.text, { providerId });
      const { finalOutput } = await mustEnd(run, ExecutionState.SUCCEEDED);
      if (finalOutput === "") fail("its output was lost");
      return undefined;
    },
  },
  {
    title: "P03 what the manifest calls UNSUPPORTED is refused, before and during an execution",
    async run(scene) {
      const { runtime, caller, providerId, situations } = scene;
      const missing = Object.keys(scene.manifest.capabilities).filter(
        (name) => levelOf(scene, name) === SupportLevel.UNSUPPORTED,
      );
      for (const name of [...missing, "conformance.unknown"]) {
        const request = { providerId, input: { text: situations.text.input }, requiredCapabilities: [name] };
        await refused(ErrorReason.CAPABILITY_UNSUPPORTED, () =>
          runtime.startExecution(caller, create(StartExecutionRequestSchema, request)),
        );
      }
      const run = await startRun(scene, situations.long);
      await run.until("text", () => run.text !== "");
      for (const [name, mode] of MODES) {
        if (!missing.includes(name)) continue;
        await refused(ErrorReason.INPUT_MODE_UNSUPPORTED, () => run.send(situations.text, mode));
      }
      await run.cancel();
      await run.end();
      return undefined;
    },
  },
  {
    title: "L02 every execution so far has events 1 to n, and one terminal event, the last",
    async run({ runs }) {
      for (const run of runs) checkLog(run);
      return undefined;
    },
  },
];

const MODES = [
  ["input.follow_up", InputMode.FOLLOW_UP],
  ["input.steer", InputMode.STEER],
  ["input.replace", InputMode.REPLACE],
] as const;
const TERMINAL: readonly Event["payload"]["case"][] = ["runCompleted", "runFailed", "runCancelled"];

function startApproval(scene: Scene): Promise<CheckedRun> {
  return startRun(scene, scene.situations.approval ?? scene.situations.text);
}

/** Says no to whatever else is asked, until the end. */
async function answerRest(run: CheckedRun): Promise<void> {
  const answered = new Set<string>();
  while (!run.isOver) {
    const open = run.events.flatMap(({ payload }) =>
      payload.case === "actionRequired" ? (payload.value.action ?? []) : [],
    );
    for (const { id } of open) {
      if (answered.has(id)) continue;
      answered.add(id);
      await run.respond(id, { approved: false }).catch(() => undefined);
    }
    const seen = run.events.length;
    await run.until("it goes on", () => run.isOver || run.events.length > seen);
  }
}

async function mustEnd(run: CheckedRun, state: ExecutionState): Promise<Execution> {
  const execution = await run.end();
  if (execution.state === state) return execution;
  const why = execution.error?.message ?? "";
  return fail(
    `it ended ${ExecutionState[execution.state]}, not ${ExecutionState[state]}${why === "" ? "" : `: ${why}`}`,
  );
}

async function refused(reason: Reason, call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (isHarnessError(error, reason)) return;
    throw error;
  }
  fail(`it was not refused with ${ErrorReason[reason]}`);
}

function sameEvents(left: readonly Event[], right: readonly Event[]): boolean {
  if (left.length !== right.length) return false;
  return left.every((event, index) => {
    const other = right[index];
    return other !== undefined && Buffer.from(toBinary(EventSchema, event)).equals(toBinary(EventSchema, other));
  });
}

function checkLog({ id, events, isOver }: CheckedRun): void {
  if (!isOver) fail(`${id} has not ended`);
  const gap = events.findIndex(({ sequence }, index) => sequence !== index + 1);
  if (gap >= 0) fail(`${id} has ${events[gap]?.sequence} as event ${gap + 1}`);
  const terminal = events.filter(({ payload }) => TERMINAL.includes(payload.case));
  if (terminal.length !== 1 || terminal[0] !== events.at(-1))
    fail(`${id} has ${terminal.length} terminal events, or more after it`);
}
