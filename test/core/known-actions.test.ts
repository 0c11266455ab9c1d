import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { type ActionRequest, ActionRequestSchema, ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { KnownActions } from "../../src/core/known-actions.js";
import type { Store } from "../../src/core/store.js";

const EXECUTION = "exe_1";

/** A store of one execution's actions, newest first, and what a view knows of them. */
function open() {
  const actions: ActionRequest[] = [];
  const encode = (action: ActionRequest): Uint8Array => toBinary(ActionRequestSchema, action);
  const store: Pick<Store, "listActions" | "getAction"> = {
    listActions: async ({ pageSize }) => ({ items: actions.slice(0, pageSize).map(encode), nextPageToken: "" }),
    getAction: async (_key, id) => actions.filter((action) => action.id === id).map(encode)[0],
  };
  const known = new KnownActions(store as Store, { tenantId: "local" });
  const changed = async (over = false) => {
    const found = await Array.fromAsync(known.changed([{ executionId: EXECUTION, over }]));
    return found.map(({ id, state }) => [id, state]);
  };
  const ask = (): ActionRequest => {
    const id = `act_${actions.length}`;
    const action = create(ActionRequestSchema, { id, executionId: EXECUTION, state: ActionState.PENDING });
    actions.unshift(action);
    return action;
  };
  return { known, changed, ask };
}

test("a view that watches an execution with 1,000 actions keeps the newest of them, and none when it is over", async () => {
  const { known, changed, ask } = open();
  const first = ask();
  expect(await changed()).toEqual([[first.id, ActionState.PENDING]]);
  for (let count = 0; count < 1000; count++) {
    const action = ask();
    expect(await changed()).toEqual([[action.id, ActionState.PENDING]]);
    action.state = ActionState.RESPONDED;
    expect(await changed()).toEqual([[action.id, ActionState.RESPONDED]]);
  }
  expect(known.size).toBe(21);
  first.state = ActionState.ABANDONED;
  expect(await changed()).toEqual([[first.id, ActionState.ABANDONED]]);
  expect(known.size).toBe(20);
  expect(await changed(true)).toEqual([]);
  expect(known.size).toBe(0);
});
