import { expect, test } from "vitest";
import { ActionKind } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { ProviderContext, TurnOutcome } from "../../../src/core/provider.js";
import { define, openRemoteKit, remoteManifest, SILENT } from "./kit.js";

const { UNSUPPORTED } = SupportLevel;

type Run = (context: ProviderContext) => Promise<TurnOutcome | undefined>;

const approve: Run = async (context) => {
  await context.requestAction({ key: "k", kind: ActionKind.APPROVAL, title: "Delete it?" });
  return undefined;
};
const stream: Run = async (context) => {
  await context.emit({ case: "outputTextDelta", value: { text: "a" } });
  return undefined;
};

test.each<[string, Run, RegExp]>([
  ["is refused an action", approve, /: the runtime refused a message: .* needs the capability action.approval/],
  ["emits what it may not", stream, /: the provider broke the contract: .* needs the capability event.streaming/],
  [
    "returns what is no outcome",
    async () => ({ status: "nope" }) as never,
    /: the provider failed: .* no status "nope"/,
  ],
  ["throws", () => Promise.reject(new Error("boom")), /: the provider failed: boom$/],
])("a provider that %s is warned, once", async (_, run, message) => {
  const remote = await openRemoteKit();
  const warnings: string[] = [];
  const log = { ...SILENT, warn: (_fields: object, warning: string) => void warnings.push(warning) };
  const manifest = remoteManifest({ "action.approval": UNSUPPORTED, "event.streaming": UNSUPPORTED });
  const connection = await remote.connect(define(run, { manifest }), { log });
  const { id } = await remote.start();
  await remote.kit.over(id);
  await remote.idle(connection);
  expect(warnings).toEqual([expect.stringMatching(message)]);
  expect(warnings[0]).toContain(`execution ${id}: `);
});
