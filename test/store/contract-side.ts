import { expect, test } from "vitest";
import { ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import {
  action,
  appending,
  artifact,
  bytesOf,
  makeExecution,
  newKey,
  type OpenStore,
  range,
  readSequences,
  sideOnly,
  text,
  useStore,
} from "./fixtures.js";

export function describeSideRows(open: OpenStore): void {
  const store = useStore(open);

  test("an execution without side rows, or that does not exist, has none", async () => {
    const none = { actions: [], answers: [], inputs: [], artifactIds: [], resumeState: undefined };
    expect(await store().getSideRows(await makeExecution(store()))).toEqual(none);
    expect(await store().getSideRows(newKey())).toEqual(none);
  });

  test("an action is written over by its ID and keeps its place", async () => {
    const key = await makeExecution(store());
    await store().append(appending(key, 1, 1, { side: { actions: [action("a"), action("b")] } }));
    const responded = action("a", { state: ActionState.RESPONDED, bytes: bytesOf("responded") });
    await store().append(appending(key, 2, 1, { side: { actions: [responded] } }));
    expect(text(await store().getAction(key, "a"))).toBe("responded");
    expect(await store().getAction(key, "c")).toBeUndefined();
    expect(await store().getAction(newKey(), "a")).toBeUndefined();
    const { actions } = await store().getSideRows(key);
    expect(actions.map((row) => ({ ...row, bytes: text(row.bytes) }))).toEqual([
      { ...responded, bytes: "responded" },
      { ...action("b"), bytes: "action b" },
    ]);
  });

  test("an answer is written over, as when it is delivered", async () => {
    const key = await makeExecution(store());
    const answer = { actionId: "a", bytes: bytesOf("yes"), delivered: false, expired: false };
    const expired = { actionId: "b", bytes: new Uint8Array(), delivered: false, expired: true };
    await store().append(appending(key, 1, 1, { side: { answers: [answer, expired] } }));
    await store().append(sideOnly(key, 2, { side: { answers: [{ ...answer, delivered: true }] } }));
    const found = await store().getAnswer(key, "a");
    expect({ ...found, bytes: text(found?.bytes) }).toEqual({ ...answer, bytes: "yes", delivered: true });
    expect(await store().getAnswer(key, "c")).toBeUndefined();
    const { answers } = await store().getSideRows(key);
    expect(answers.map(({ actionId, delivered, expired }) => [actionId, delivered, expired])).toEqual([
      ["a", true, false],
      ["b", false, true],
    ]);
    expect(answers[1]?.bytes).toHaveLength(0);
  });

  test("inputs keep the order in which they were accepted", async () => {
    const key = await makeExecution(store());
    const ids = ["z", "a", "m"];
    for (const [index, inputId] of ids.entries()) {
      const side = { inputs: [{ inputId, bytes: bytesOf(`input ${inputId}`) }] };
      await store().append(appending(key, index + 1, 1, { side }));
    }
    expect((await store().getSideRows(key)).inputs.map(({ inputId }) => inputId)).toEqual(ids);
    expect(text((await store().getInput(key, "m"))?.bytes)).toBe("input m");
    expect(await store().getInput(key, "q")).toBeUndefined();
  });

  test("the resume state is replaced, and stays where a write has none", async () => {
    const key = await makeExecution(store());
    const big = new Uint8Array(1024 * 1024).fill(7);
    await store().append(appending(key, 1, 1, { side: { resumeState: bytesOf("one") } }));
    await store().append(appending(key, 2, 1, { side: { resumeState: big } }));
    await store().append(appending(key, 3));
    const { resumeState } = await store().getSideRows(key);
    expect(resumeState?.length).toBe(big.length);
    expect(resumeState?.every((byte) => byte === 7)).toBe(true);
  });

  test("F01 an artifact ID is taken once in an execution; a second fails the write as a whole", async () => {
    const key = await makeExecution(store());
    await store().append(appending(key, 1, 1, { side: { artifacts: [artifact("a")] } }));
    for (const artifacts of [
      [artifact("b"), artifact("a")],
      [artifact("c"), artifact("c")],
    ]) {
      await expect(store().append(appending(key, 2, 1, { side: { artifacts } }))).rejects.toMatchObject({
        reason: ErrorReason.SEQUENCE_CONFLICT,
      });
    }
    expect((await store().getSideRows(key)).artifactIds).toEqual(["a"]);
    expect(await readSequences(store(), key)).toEqual([1, 2]);
    const other = await makeExecution(store(), {}, { key: newKey(key.tenantId) });
    await store().append(appending(other, 1, 1, { side: { artifacts: [artifact("a")] } }));
    expect(text(await store().getArtifact(other, "a"))).toBe("artifact a");
    expect(await store().getArtifact(other, "b")).toBeUndefined();
  });

  test("F01 artifacts are listed in the order of their events, page by page", async () => {
    const key = await makeExecution(store());
    const ids = range(1, 25).map((number) => `${(number * 7) % 25}`);
    for (const [index, id] of ids.entries()) {
      await store().append(appending(key, index + 1, 1, { side: { artifacts: [artifact(id)] } }));
    }
    const listed: (string | undefined)[] = [];
    let pageToken = "";
    do {
      const page = await store().listArtifacts(key, { pageSize: 10, pageToken });
      expect(page.items.length).toBeLessThanOrEqual(10);
      listed.push(...page.items.map(text));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(listed).toEqual(ids.map((id) => `artifact ${id}`));
    expect(await store().listArtifacts(newKey(), { pageSize: 10, pageToken: "" })).toEqual({
      items: [],
      nextPageToken: "",
    });
  });

  test("side rows of a refused write are not there", async () => {
    const key = await makeExecution(store());
    const side = { actions: [action("a")], artifacts: [artifact("a")], resumeState: bytesOf("x") };
    await expect(store().append(appending(key, 9, 1, { side }))).rejects.toMatchObject({
      reason: ErrorReason.SEQUENCE_CONFLICT,
    });
    const rows = await store().getSideRows(key);
    expect([rows.actions, rows.artifactIds, rows.resumeState]).toEqual([[], [], undefined]);
  });
}
