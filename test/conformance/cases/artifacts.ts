import { describe, expect, test } from "vitest";
import { FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { Scene } from "../suite.js";
import { payloadsOf } from "../support/follow.js";
import { refusal, start } from "../support/stage.js";

export function testArtifacts(scene: () => Scene): void {
  describe("artifacts", () => {
    test("F01 each is announced by one event, in order, and listed with equal data", async () => {
      const { clients } = scene();
      const artifact = (id: string) => ({
        artifact: { id, name: `${id}.md`, media_type: "text/markdown", uri: `file:///${id}`, metadata: { n: 1 } },
      });
      const run = await start(clients, { steps: [artifact("b"), artifact("a")] });
      const { events } = await run.finish();
      const announced = payloadsOf(events, "artifactCreated").map((event) => event.artifact);
      const { artifacts } = await clients.executions.listArtifacts({ executionId: run.id });
      expect(artifacts).toEqual(announced);
      expect(artifacts.map(({ id }) => id)).toEqual(["b", "a"]);
      const one = await clients.executions.getArtifact({ executionId: run.id, artifactId: "a" });
      expect(one.artifact).toEqual(artifacts[1]);
      const none = clients.executions.getArtifact({ executionId: run.id, artifactId: "c" });
      expect(await refusal(none)).toEqual({ reason: "NOT_FOUND", metadata: { resource: "artifact", id: "c" } });
    });

    test("F01 a duplicate or a nameless one fails the execution and is not listed", async () => {
      const { clients } = scene();
      for (const step of [{ duplicate_artifact: true as const }, { artifact: { id: "x", media_type: "text/plain" } }]) {
        const run = await start(clients, { steps: [step] });
        const { execution, events } = await run.finish();
        expect(execution.error?.reason).toBe(FailureReason.PROVIDER_PROTOCOL_VIOLATION);
        const { artifacts } = await clients.executions.listArtifacts({ executionId: run.id });
        expect(artifacts.map(({ id }) => id)).toEqual("duplicate_artifact" in step ? ["duplicate"] : []);
        expect(payloadsOf(events, "artifactCreated")).toHaveLength(artifacts.length);
      }
    });
  });
}
