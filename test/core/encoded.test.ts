import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionSchema, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { CALLER, openKit } from "./kit.js";

const STEPS = [{ text: "one" }, { approval: { key: "k", title: "May I?" } }, { text: "two" }];

describe("an execution in the wire form", () => {
  test("is at every moment what GetExecution says", async () => {
    const kit = await openKit();
    const { id } = await kit.script(STEPS, { labels: { team: "a" }, input: { text: "x".repeat(100_000) } });
    const action = await kit.action(id);
    expect((await kit.get(id)).openActions).toHaveLength(1);
    await kit.respond(action, { approved: true });
    expect(await kit.over(id)).toMatchObject({
      state: ExecutionState.SUCCEEDED,
      labels: { team: "a" },
      openActions: [],
    });
    await kit.open();
    expect((await kit.get(id)).finalOutput).toBe("onetwo");
  });

  test("is encoded once while no event comes, and anew after one", async () => {
    const kit = await openKit();
    const { id } = await kit.script(STEPS);
    const action = await kit.action(id);
    const encode = () => kit.runtime.encodedExecution(CALLER, id);
    const parked = await encode();
    expect(await encode()).toBe(parked);
    await kit.respond(action, { approved: true });
    expect(fromBinary(ExecutionSchema, await encode()).openActions).toEqual([]);
  });

  test("is not what a caller of GetExecution may change", async () => {
    const kit = await openKit();
    const { id } = await kit.script(STEPS);
    await kit.action(id);
    const mine = await kit.get(id);
    mine.labels["mine"] = "yes";
    mine.state = ExecutionState.FAILED;
    expect((await kit.get(id)).labels).toEqual({});
  });

  test("is NOT_FOUND for another tenant", async () => {
    const kit = await openKit();
    const { id } = await kit.script(STEPS);
    const stranger = { tenantId: "other", userId: "tester" };
    await expect(kit.runtime.encodedExecution(stranger, id)).rejects.toMatchObject({ reason: ErrorReason.NOT_FOUND });
  });
});
