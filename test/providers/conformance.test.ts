import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { SupportLevel } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { CANCEL_CHECKS } from "../../src/providers/conformance/cancel-checks.js";
import { startRun } from "../../src/providers/conformance/scene.js";
import { SCRIPTED_SITUATIONS } from "../../src/providers/conformance/situation.js";
import { openScene } from "../../src/providers/conformance.js";
import { createMark, markVariables } from "../../src/providers/containment/marks.js";
import { listCarrying, startedMarks } from "../../src/providers/containment/started.js";
import { scriptedProvider } from "../../src/providers/scripted/scripted.js";
import { openLiveRuntime } from "../support/live-runtime.js";
import { until } from "../support/processes.js";

test("events that cannot be read fail the check that waits for them", async () => {
  const { runtime, close } = await openLiveRuntime({ providers: [scriptedProvider()] });
  const scene = openScene(runtime, "scripted", { situations: SCRIPTED_SITUATIONS });
  runtime.watchEvents = () => Promise.reject(new Error("the store is gone"));
  const run = await startRun(scene, SCRIPTED_SITUATIONS.text);
  await expect(run.end()).rejects.toThrow("could not be read to the end: Error: the store is gone");
  await close();
});

test("a process that lives on after a cancel is found, although the provider says that there is none", async () => {
  const mark = createMark();
  const marks = new Set([mark]);
  const { runtime, close } = await openLiveRuntime({ providers: [scriptedProvider()] });
  let looks = 0;
  const processes = {
    marks: async () => (looks++ === 0 ? new Set<string>() : await startedMarks()),
    carrying: listCarrying,
  };
  const scene = openScene(runtime, "scripted", { situations: SCRIPTED_SITUATIONS, processes });
  // Its parent is gone when it is looked for.
  const parent = spawn("/bin/sh", ["-c", "sleep 300 & exec sleep 300"], { env: markVariables(mark), stdio: "ignore" });
  await until("both sleep", async () => (await listCarrying(marks)).length === 2);
  expect(await startedMarks()).toContain(mark);
  await expect(CANCEL_CHECKS[0]?.run(scene)).rejects.toThrow(/still running: sleep \(PID \d+\)/);
  parent.kill("SIGKILL");
  await until("one is left, of no parent", async () => (await listCarrying(marks)).length === 1);
  const [left = ""] = await listCarrying(marks);
  process.kill(Number(/\d+/.exec(left)?.[0]), "SIGKILL");
  await until("none is left", async () => (await listCarrying(marks)).length === 0);
  expect(scene.manifest.capabilities["execution.cancel"]).toBe(SupportLevel.NATIVE);
  await close();
});
