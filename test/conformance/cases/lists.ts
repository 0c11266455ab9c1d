import { describe, expect, test } from "vitest";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { Scene } from "../suite.js";
import { must, nextOf, refusal, start, untilSynced } from "../support/stage.js";

let groups = 0;

export function testLists(scene: () => Scene): void {
  describe("lists and views", () => {
    test("executions come newest first, in pages, by every filter", async () => {
      const { clients } = scene();
      const { executions } = clients;
      const labels = { group: `g${process.pid}-${groups++}` };
      const ids: string[] = [];
      for (let index = 0; index < 5; index++) {
        const run = await start(clients, {}, { labels: { ...labels, index: `${index}` } });
        await run.finish();
        ids.unshift(run.id);
      }
      const first = await executions.listExecutions({ labels, pageSize: 2 });
      const second = await executions.listExecutions({ labels, pageSize: 10, pageToken: first.nextPageToken });
      expect([...first.executions, ...second.executions].map(({ id }) => id)).toEqual(ids);
      expect(second.nextPageToken).toBe("");
      const { conversationId } = must(first.executions[0]);
      const one = await executions.listExecutions({ conversationId, states: [ExecutionState.SUCCEEDED], labels });
      expect(one.executions.map(({ id }) => id)).toEqual([ids[0]]);
      expect((await executions.listExecutions({ labels, states: [ExecutionState.FAILED] })).executions).toEqual([]);
      expect((await refusal(executions.listExecutions({ pageToken: "?" }))).reason).toBe("VALIDATION_ERROR");
      expect((await refusal(executions.listExecutions({ pageSize: -1 }))).reason).toBe("VALIDATION_ERROR");
    });

    test("conversations are kept with their metadata and listed by label", async () => {
      const { conversations } = scene().clients;
      const labels = { group: `c${process.pid}-${groups++}` };
      const { conversation } = await conversations.createConversation({ metadata: { a: [1, null] }, labels });
      expect(conversation).toMatchObject({ tenantId: "acme", userId: "ann", metadata: { a: [1, null] }, labels });
      expect((await conversations.listConversations({ labels })).conversations).toEqual([conversation]);
      const { id } = must(conversation);
      expect((await conversations.getConversation({ conversationId: id })).conversation).toEqual(conversation);
      const none = conversations.getConversation({ conversationId: "none" });
      expect(await refusal(none)).toEqual({ reason: "NOT_FOUND", metadata: { resource: "conversation", id: "none" } });
    });

    test("attachments come back whole by Get, and without their bytes in lists", async () => {
      const { executions } = scene().clients;
      const labels = { group: `a${process.pid}-${groups++}` };
      const data = Uint8Array.from({ length: 300_000 }, (_, index) => index % 251);
      const attachments = [{ mediaType: "image/png", name: "x.png", source: { case: "data" as const, value: data } }];
      const run = await start(scene().clients, {}, { input: { text: "see", attachments }, labels });
      await run.finish();
      const [attachment] = must((await run.get()).input).attachments;
      expect(Buffer.compare(must(attachment).source.value as Uint8Array, data)).toBe(0);
      const { executions: listed } = await executions.listExecutions({ labels });
      expect(listed[0]?.input?.attachments).toMatchObject([{ name: "x.png", source: { case: undefined } }]);
    });

    test("W03 a page or a frame of large executions is at most 3 MiB, and the next page goes on", async () => {
      const { clients } = scene();
      const labels = { group: `l${process.pid}-${groups++}` };
      const text = "x".repeat(900_000);
      const ids: string[] = [];
      for (let index = 0; index < 5; index++) {
        const run = await start(clients, { steps: [] }, { input: { text }, labels });
        await run.finish();
        ids.unshift(run.id);
      }
      const listed: string[] = [];
      let pageToken = "";
      do {
        const page = await clients.executions.listExecutions({ labels, pageSize: 1_000, pageToken });
        expect(page.executions.length).toBeLessThanOrEqual(3);
        listed.push(...page.executions.map(({ id }) => id));
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
      expect(listed).toEqual(ids);
      const shown = await untilSynced(clients.executions.watchExecutions({ labels }));
      expect(shown.flatMap(({ executions }) => executions.map(({ id }) => id))).toEqual(ids);
    });

    test("W03 what changes at once comes in frames of at most 3 MiB", async () => {
      const { clients } = scene();
      const labels = { group: `v${process.pid}-${groups++}` };
      const view = clients.executions.watchExecutions({ labels })[Symbol.asyncIterator]();
      await nextOf(view, ({ synced }) => synced);
      const input = { text: "x".repeat(900_000) };
      const runs = await Promise.all(
        Array.from({ length: 6 }, () => start(clients, { steps: [{ approval: {} }] }, { input, labels })),
      );
      const left = new Set(runs.map(({ id }) => id));
      while (left.size > 0) {
        const { executions } = await nextOf(view, (frame) => frame.executions.length > 0);
        expect(executions.length).toBeLessThanOrEqual(3);
        for (const { id, state } of executions) if (state === ExecutionState.AWAITING_APPROVAL) left.delete(id);
      }
      await view.return?.();
      for (const { id } of runs) await clients.executions.cancelExecution({ executionId: id, wait: true });
    });

    test("WatchExecutions and WatchActions send empty frames while nothing changes", async () => {
      const { executions, actions, runtime } = scene().clients;
      const { limits } = await runtime.describeRuntime({});
      expect(limits?.heartbeatInterval).toBeDefined();
      const labels = { group: `h${process.pid}-${groups++}` };
      const views = [executions.watchExecutions({ labels }), actions.watchActions({ executionId: "none" })];
      for (const view of views) {
        const frames: unknown[] = [];
        for await (const { $typeName: _, ...frame } of view) if (frames.push(frame) === 3) break;
        const items = "executions" in (frames[0] as object) ? { executions: [] } : { actions: [] };
        expect(frames).toEqual(Array(3).fill({ ...items, synced: true, removedIds: [] }));
      }
    });

    test("WatchExecutions shows what matches, then what becomes of it", async () => {
      const { clients } = scene();
      const labels = { group: `w${process.pid}-${groups++}` };
      const run = await start(clients, { steps: [{ approval: {} }] }, { labels });
      const { id: actionId } = await run.action();
      const view = clients.executions.watchExecutions({ labels })[Symbol.asyncIterator]();
      const shown = await nextOf(view, ({ executions }) => executions.length > 0);
      expect(shown.executions).toMatchObject([{ id: run.id, state: ExecutionState.AWAITING_APPROVAL }]);
      await nextOf(view, ({ synced }) => synced);
      await clients.actions.respondAction({ executionId: run.id, actionId, response: { approved: true } });
      await nextOf(view, ({ executions }) => executions[0]?.state === ExecutionState.SUCCEEDED);
      await view.return?.();
      await run.finish();
    });

    test("providers and the runtime describe themselves", async () => {
      const { runtime } = scene().clients;
      const described = await runtime.describeRuntime({});
      expect(described).toMatchObject({ protocolVersion: "2026-09-02", providers: [{ id: "scripted" }] });
      const { providers } = await runtime.listProviders({});
      expect(providers).toMatchObject([{ manifest: { id: "scripted" }, available: true }]);
      expect((await runtime.getProvider({ providerId: "scripted" })).provider).toEqual(providers[0]);
      expect((await refusal(runtime.getProvider({ providerId: "none" }))).reason).toBe("PROVIDER_NOT_FOUND");
    });
  });
}
