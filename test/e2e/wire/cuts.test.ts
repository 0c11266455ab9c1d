import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CUTS, followThroughCuts, type Seen } from "../../wire/cuts.js";
import { GO_WIRE, PYTHON, startWorker } from "../../wire/worker.js";

const FOLLOW = join(import.meta.dirname, "../../wire/python/follow.py");

describe.concurrent.each<[string, string, string[]]>([
  ["Go", GO_WIRE, ["follow"]],
  ["Python in threads", PYTHON, [FOLLOW, "threads"]],
  ["Python in asyncio", PYTHON, [FOLLOW, "asyncio"]],
])("R05 in %s, a connection that is cut at any byte loses nothing", (_, program, args) => {
  test(`${CUTS} times`, { timeout: CUTS * 5_000 }, async () => {
    const worker = startWorker(program, args);
    try {
      const { executions } = await followThroughCuts(CUTS, async (url, config) => {
        const seen = (await worker.ask({ url, config })) as Seen & { readonly failure?: string };
        expect(seen.failure).toBeUndefined();
        return seen;
      });
      expect(executions).toBeGreaterThan(0);
    } finally {
      worker.close();
    }
  });
});
