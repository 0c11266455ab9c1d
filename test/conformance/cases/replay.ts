import { equals } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, test } from "vitest";
import { type Event, EventSchema } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import type { Scene } from "../suite.js";
import { follow, kindsOf } from "../support/follow.js";
import { refusal, start } from "../support/stage.js";

export function testReplay(scene: () => Scene): void {
  describe("replay", () => {
    let executionId: string;
    let live: readonly Event[];
    beforeAll(async () => {
      const run = await start(scene().clients, {
        steps: [{ text: "a" }, { reasoning: "b" }, { text: "c" }, { flood: { count: 100, bytes: 200 } }],
      });
      executionId = run.id;
      ({ events: live } = await run.finish());
    });
    const watch = (request: { afterSequence?: number; eventTypes?: string[]; follow?: boolean; maxBatch?: number }) =>
      follow(scene().clients.executions.watchEvents({ executionId, ...request }));

    test("R01 R03 R09 from any cursor come the same events as live, in order, to the terminal one", async () => {
      for (const afterSequence of [0, 1, 3, live.length - 1]) {
        const again = await watch({ afterSequence }).end();
        const expected = live.slice(afterSequence);
        expect(again.map(({ sequence }) => sequence)).toEqual(expected.map(({ sequence }) => sequence));
        expect(again.every((event, index) => equals(EventSchema, event, expected[index]!))).toBe(true);
      }
    });

    test("R03 at the terminal sequence: one empty frame, then the end", async () => {
      const follower = watch({ afterSequence: live.length });
      expect(await follower.end()).toEqual([]);
      expect(follower.frames).toMatchObject([{ nextAfterSequence: live.length, headSequence: live.length }]);
    });

    test("R03 R09 with a filter that hides the end the stream ends all the same, at the head", async () => {
      const follower = watch({ eventTypes: ["output.reasoning.*", "run.queued"] });
      expect(kindsOf(await follower.end())).toEqual(["runQueued", "outputReasoningDelta"]);
      expect(follower.frames.at(-1)).toMatchObject({ nextAfterSequence: live.length, headSequence: live.length });
    });

    test("R01 a batch holds at most max_batch events", async () => {
      const follower = watch({ maxBatch: 7 });
      await follower.end();
      expect(Math.max(...follower.frames.map(({ events }) => events.length))).toBe(7);
    });

    test.each([
      ["R02 beyond the head", { afterSequence: 1_000_000 }, "CURSOR_AHEAD"],
      ["R02 a negative cursor", { afterSequence: -1 }, "VALIDATION_ERROR"],
      ["R02 an unknown execution", { executionId: "none" }, "NOT_FOUND"],
      ["an unknown type of event", { eventTypes: ["run.finished"] }, "VALIDATION_ERROR"],
    ])("%s is refused before any frame, by WatchEvents and ListEvents alike", async (_, request, reason) => {
      const { executions } = scene().clients;
      const follower = follow(executions.watchEvents({ executionId, ...request }));
      const refused = await refusal(follower.end());
      expect(refused.reason).toBe(reason);
      if (reason === "CURSOR_AHEAD") expect(refused.metadata["head_sequence"]).toBe(`${live.length}`);
      expect(follower.frames).toEqual([]);
      expect((await refusal(executions.listEvents({ executionId, ...request }))).reason).toBe(reason);
    });

    test("R04 the first frame comes at once although the log is quiet", async () => {
      const { clients } = scene();
      const run = await start(clients, { steps: [{ approval: {} }] });
      await run.follower.until("actionRequired");
      const head = (await run.get()).lastSequence;
      for await (const frame of clients.executions.watchEvents({ executionId: run.id, afterSequence: head })) {
        expect(frame).toMatchObject({ events: [], nextAfterSequence: head, headSequence: head });
        break;
      }
      await clients.executions.cancelExecution({ executionId: run.id });
      await run.finish();
    });

    test("without follow the stream ends at the head of a live execution", async () => {
      const { clients } = scene();
      const run = await start(clients, { steps: [{ approval: {} }] });
      await run.follower.until("actionRequired");
      const follower = follow(clients.executions.watchEvents({ executionId: run.id, follow: false }));
      expect(kindsOf(await follower.end()).at(-1)).toBe("actionRequired");
      await clients.executions.cancelExecution({ executionId: run.id });
      await run.finish();
    });

    test("ListEvents pages through the same events", async () => {
      const pages: Event[] = [];
      let afterSequence = 0;
      for (;;) {
        const page = await scene().clients.executions.listEvents({ executionId, afterSequence, pageSize: 9 });
        expect(page.events.length).toBeLessThanOrEqual(9);
        pages.push(...page.events);
        afterSequence = page.nextAfterSequence;
        if (afterSequence === page.headSequence) break;
      }
      expect(pages.map(({ sequence }) => sequence)).toEqual(live.map(({ sequence }) => sequence));
    });
  });
}
