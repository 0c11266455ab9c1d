import { create } from "@bufbuild/protobuf";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { StartExecutionRequestSchema } from "../../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { type Check, mustEnd, refused } from "./check.js";
import { fail, levelOf, startRun } from "./scene.js";

/** What a running execution takes, and what is refused. */
export const INPUT_CHECKS: readonly Check[] = [
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
];

const MODES = [
  ["input.follow_up", InputMode.FOLLOW_UP],
  ["input.steer", InputMode.STEER],
  ["input.replace", InputMode.REPLACE],
] as const;
