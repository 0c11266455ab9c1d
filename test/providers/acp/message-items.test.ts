import { afterEach, expect, test } from "vitest";
import { MessageItems } from "../../../src/providers/acp/message-items.js";
import { closeFixtures, openAgent } from "./fixture.js";

afterEach(closeFixtures);

/** The items of pieces, each after as many milliseconds. */
function itemsOf(...pieces: readonly (readonly [afterMs: number, text: string, kind?: string])[]) {
  const items = new MessageItems();
  let nowMs = 0;
  return pieces.map(([afterMs, text, kind = "text"]) => {
    nowMs += afterMs;
    return items.itemOf(kind, "m", text, nowMs);
  });
}

test("a message that begins again after a pause is another item, each time", () => {
  expect(itemsOf([0, "half "], [10, "an ans"], [8_000, "half "], [10, "an answer"], [9_000, "half an answer"])).toEqual(
    [
      { itemId: "m" },
      { itemId: "m" },
      { itemId: "m#2", insteadOf: "m" },
      { itemId: "m#2" },
      { itemId: "m#3", insteadOf: "m#2" },
    ],
  );
});

test.each([
  ["at once", 10, "The", "text"],
  ["after a pause, with other words", 5_000, "A", "text"],
  ["after a pause, with text where it was reasoning", 5_000, "The", "reasoning"],
])("a message that goes on %s is one item", (_, pauseMs, text, kind) => {
  expect(itemsOf([0, "The", kind], [pauseMs, text, "text"])).toEqual([{ itemId: "m" }, { itemId: "m" }]);
});

test("text that is superseded is visible as such", async () => {
  const { run } = await openAgent();
  const chunk = (text: string) => {
    return { update: { sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text } } };
  };
  const live = await run([chunk("half an ans"), { sleep: 1_100 }, chunk("half an ans"), chunk("wer")]);
  await live.end();
  expect(live.all("outputTextDelta").at(-1)).toMatchObject({ itemId: "m#2" });
  expect(live.all("providerEvent").find(({ type }) => type === "acp.message_restarted")?.data).toEqual({
    item_id: "m#2",
    instead_of: "m",
  });
});
