import { afterEach, describe, expect, test } from "vitest";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { splitLines } from "../../../src/providers/acp/lines.js";
import { createOutputTail, createRedact } from "../../../src/providers/acp/redact.js";
import { closeFixtures, openAgent } from "./fixture.js";

afterEach(closeFixtures);

const TEN_MIB = 10 * 1024 * 1024;

describe("an agent's output", () => {
  test("may have lines that are no messages, at the beginning and between", async () => {
    const { run, logged } = await openAgent({ flags: ["--greet"] });
    const noise = ["plain text", '{"half":', "[1,2,3]", '"text"', "null", "{}", '{"jsonrpc":"2.0"}', ""];
    const live = await run([...noise.map((line) => ({ noise: line })), { text: "done" }]);
    expect((await live.end()).finalOutput).toBe("done");
    expect(logged.filter((line) => line.includes("no message"))).toHaveLength(3 + noise.length - 1);
  });

  test("may have a message that is too long: it is dropped, said so, and nothing else is", async () => {
    const { run } = await openAgent();
    const live = await run([{ text: "before " }, { big: { bytes: TEN_MIB, as: "update" } }, { text: "after" }]);
    expect((await live.end()).finalOutput).toBe("before after");
    const dropped = live.all("providerEvent").filter(({ type }) => type === "acp.message_dropped");
    expect(dropped).toMatchObject([{ data: { method: "session/update" } }]);
  });

  test("may have garbage without an end", async () => {
    const { run } = await openAgent();
    const live = await run([{ big: { bytes: TEN_MIB, as: "garbage" } }, { text: "after" }]);
    expect((await live.end()).finalOutput).toBe("after");
  });

  test("a request of the agent that is too long fails, and the agent is told", async () => {
    const { run } = await openAgent();
    const live = await run([{ big: { bytes: TEN_MIB, as: "request" } }, { text: "after" }]);
    expect((await live.end()).finalOutput).toMatch(
      /^error -32603: a message of 104\d+ bytes is longer than is taken\nafter$/,
    );
  });

  test("an answer that is too long fails its prompt only", async () => {
    const { run } = await openAgent();
    const first = await run([{ text: "x" }, { big_answer: TEN_MIB }]);
    expect((await first.end()).error?.message).toContain("is longer than is taken");
    const second = await run("next", { conversationId: first.conversationId });
    expect((await second.end()).state).toBe(ExecutionState.SUCCEEDED);
  });

  test("100,000 deltas arrive whole and in order", async () => {
    const { run } = await openAgent();
    const live = await run([{ flood: 100_000 }]);
    const execution = await live.end();
    const words = live.text().trim().split(" ");
    expect(words).toHaveLength(100_000);
    expect(words.every((word, index) => word === `w${index}`)).toBe(true);
    expect(execution.state).toBe(ExecutionState.SUCCEEDED);
  });

  test("standard error is drained, however much there is", async () => {
    const { run } = await openAgent();
    const live = await run([{ stderr: "x".repeat(4 * 1024 * 1024) }, { text: "done" }]);
    expect((await live.end()).finalOutput).toBe("done");
  });
});

describe("lines", () => {
  const lines = async (chunks: readonly string[], maxBytes = 1_000) => {
    const source = (async function* () {
      for (const chunk of chunks) yield Buffer.from(chunk);
    })();
    const found = [];
    for await (const some of splitLines(source, maxBytes)) found.push(...some);
    return found;
  };

  test("are found wherever the chunks end, also inside of a character", async () => {
    const bytes = Buffer.from('{"é":1}\n\n{"b":2}\r\nlast');
    for (let size = 1; size <= bytes.length; size++) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      const source = (async function* () {
        yield* chunks;
      })();
      const found: string[] = [];
      for await (const some of splitLines(source, 1_000)) found.push(...some.map(({ text }) => text));
      expect(found).toEqual(['{"é":1}', "", '{"b":2}\r', "last"]);
    }
  });

  test("that are too long are their beginning and their end", async () => {
    const [long, short] = await lines([`{"id":7,"x":"${"a".repeat(500)}`, `${"b".repeat(9_000)}","end":1}\nnext\n`]);
    expect(long).toMatchObject({ text: expect.stringMatching(/^\{"id":7,"x":"a+/), sizeBytes: 9_523 });
    expect(long?.end.endsWith('bbb","end":1}')).toBe(true);
    expect(long?.text.length).toBeLessThanOrEqual(4_096);
    expect(short).toEqual({ text: "next", end: "", sizeBytes: 4 });
  });
});

describe("what a program said last", () => {
  test.each([
    ["OPENAI_API_KEY=sk-abcdefghijklmnop", "OPENAI_API_KEY=[redacted]"],
    ["using AIzaSyA0123456789012345678901234567890", "using [redacted]"],
    ["Authorization: Bearer abc.def-ghi", "Authorization: Bearer [redacted]"],
    ["https://me:pass@example.com/x", "https://[redacted]@example.com/x"],
    ['{"password": "hunter22"}', '{"password": "[redacted]"}'],
    ["ghp_0123456789abcdefghijABCDEFGHIJ", "[redacted]"],
    ["the key to success", "the key to success"],
  ])("%j is shown as %j", (text, shown) => {
    expect(createRedact({})(text)).toBe(shown);
  });

  test("is the last 2 KiB, without control characters and without the values of secret variables", () => {
    const tail = createOutputTail(createRedact({ MY_TOKEN: "abcdefgh", PATH: "/usr/bin", SHORT_KEY: "abc" }));
    tail.add(Buffer.from(`${"é".repeat(20_000)}\u001b[1m /usr/bin abc abcd`));
    tail.add(Buffer.from("efgh end\u0007"));
    expect(tail.text()).toMatch(/^…é+ \/usr\/bin abc \[redacted\] end$/);
    expect(Buffer.byteLength(tail.text())).toBeLessThan(2_100);
  });
});
