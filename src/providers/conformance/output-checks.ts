import { toBinary } from "@bufbuild/protobuf";
import { type Event, EventSchema } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { type Check, mustEnd } from "./check.js";
import { fail, startRun } from "./scene.js";

/** What an execution shows. */
export const OUTPUT_CHECKS: readonly Check[] = [
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
];

function sameEvents(left: readonly Event[], right: readonly Event[]): boolean {
  if (left.length !== right.length) return false;
  return left.every((event, index) => {
    const other = right[index];
    return other !== undefined && Buffer.from(toBinary(EventSchema, event)).equals(toBinary(EventSchema, other));
  });
}
