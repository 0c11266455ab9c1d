import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Fate, openProxy } from "../../support/proxy.js";
import { PYTHON } from "../../wire/worker.js";
import { type BuiltServer, startBuiltServer } from "./built-server.js";

const EXAMPLES = resolve(import.meta.dirname, "../../../examples");

/** The example in Go, built. */
const GO_EXAMPLE = process.env["HARNESS_TEST_GO_EXAMPLE"] ?? "";

let server: BuiltServer;
beforeAll(async () => {
  server = await startBuiltServer("--log-level", "warn");
}, 60_000);
afterAll(async () => server?.close());

/** Runs a program against the server by way of a proxy; resolves with what it printed. */
async function run(program: string, args: readonly string[], fate: (connection: number) => Fate) {
  const proxy = await openProxy(server.port, fate);
  const env = { ...process.env, HARNESS_URL: `http://127.0.0.1:${proxy.port}` };
  try {
    const output = await new Promise<string>((done, fail) => {
      execFile(program, args, { env, timeout: 60_000 }, (error, stdout, stderr) =>
        error ? fail(new Error(`${error.message}\n${stdout}\n${stderr}`)) : done(stdout),
      );
    });
    return { output, cuts: proxy.ended() };
  } finally {
    await proxy.close();
  }
}

/** The first connections are cut while the example follows: at its first events, in mid-stream, and after the answer. */
const CUT_AFTER = [700, 900, 1100, 1300];

test.each([
  ["TypeScript", process.execPath, [`${EXAMPLES}/typescript/main.ts`]],
  ["Go", GO_EXAMPLE, []],
  ["Python", PYTHON, [`${EXAMPLES}/python/main.py`]],
])(
  "the example in %s shows each event once and succeeds although its connections are cut",
  async (_, program, args) => {
    const { output, cuts } = await run(program, args, (connection) => {
      const afterBytes = CUT_AFTER[connection];
      return afterBytes === undefined ? {} : { afterBytes };
    });
    expect(cuts).toBeGreaterThan(0);
    expect(output).toContain("SUCCEEDED: I found three old logs. They are gone.");
    const shown = [...output.matchAll(/^\[(\d+)\]/gm)].map(([, sequence]) => Number(sequence));
    expect(shown).toEqual([1, 2, 3, 9, 10, 15, 16]);
  },
  90_000,
);
