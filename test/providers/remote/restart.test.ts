import { describe, expect, test } from "vitest";
import { ActionKind } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ActionTimeoutPolicy } from "../../../gen/ts/harnessruntime/v1/policy_pb.js";
import { settle } from "../../core/fake-clock.js";
import { aborted, gate } from "../../core/kit.js";
import { define, openRemoteKit } from "./kit.js";

describe("an instance that comes back to a restarted runtime ends its work", () => {
  test("A05 where its action's time had passed under FAIL, and the execution fails for it", async () => {
    const remote = await openRemoteKit();
    const { kit } = remote;
    const ends = { held: gate(), ended: 0 };
    const connection = await remote.connect(
      define(
        async (context) => {
          await context.requestAction({ key: "k", kind: ActionKind.APPROVAL, title: "Pay?" });
          return undefined;
        },
        {
          async cancel() {
            await ends.held.promise;
            ends.ended++;
            return undefined;
          },
        },
      ),
    );
    const actionPolicy = { timeout: { seconds: 1n, nanos: 0 }, onTimeout: ActionTimeoutPolicy.FAIL };
    const { id } = await remote.start({ actionPolicy });
    await kit.action(id);
    await settle();
    remote.wire.onDown = () => false; // The runtime dies before it is heard.
    await kit.fake.advance(1_500);
    await kit.until(id, "action.expired");
    remote.wire.onDown = () => true;
    await remote.crash();
    await settle();
    expect((await kit.get(id)).state).toBe(ExecutionState.RUNNING);
    ends.held.resolve();
    expect(await kit.over(id)).toMatchObject({
      state: ExecutionState.FAILED,
      attempt: 1,
      error: { reason: FailureReason.ACTION_TIMEOUT, cleanupError: "" },
    });
    expect(ends.ended).toBe(1);
    await remote.idle(connection);
  });

  test("C01 where a cancel came while it was away", async () => {
    const remote = await openRemoteKit();
    const { kit } = remote;
    let ended = 0;
    const connection = await remote.connect(
      define(
        async (context) => {
          await aborted(context.signal);
          return { status: "cancelled" };
        },
        {
          async cancel() {
            ended++;
            return undefined;
          },
        },
      ),
    );
    const { id } = await remote.start();
    await kit.until(id, "run.started");
    await settle();
    remote.wire.onUp = () => false; // It dials in, and is not heard yet.
    await remote.crash();
    await kit.cancel(id, "stop");
    expect((await kit.get(id)).state).toBe(ExecutionState.CANCELLING);
    remote.wire.onUp = () => true;
    remote.wire.cut();
    await remote.advanceUntil("the instance is back", () => kit.runtime.getProvider("remote").available, 20_000);
    expect(await kit.over(id)).toMatchObject({
      state: ExecutionState.CANCELLED,
      cancel: { reason: "stop", cleanupError: "" },
    });
    expect(ended).toBe(1);
    await remote.idle(connection);
  });
});
