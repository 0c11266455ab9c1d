import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openProxy } from "../support/proxy.js";
import type { Client } from "./cases.js";
import { mustFind } from "./like.js";
import { eventsOf, type Outcome } from "./question.js";
import { type ScriptedServer, serveScripted } from "./scripted-server.js";

/** How a connection ends in mid-answer. An orderly end is the one that may pass for the end of the answer. */
const ENDINGS = process.env["SOAK"] === "1" ? (["close", "reset"] as const) : (["close"] as const);

/** Every byte in CI, every ninth otherwise. */
const STEP = process.env["CI"] === undefined ? 9 : 1;

/** The codes that a client takes for the server's word though they come without a reason, and does not try again. */
const LASTING =
  /^(UNIMPLEMENTED|UNAUTHENTICATED|PERMISSION_DENIED|NOT_FOUND|ALREADY_EXISTS|FAILED_PRECONDITION|OUT_OF_RANGE)$/;

/** A client, and why it may take a refusal that was cut for another one. */
export interface CutClient extends Omit<Client, "bidi"> {
  readonly refusalGap?: string | undefined;
}

/** No client takes for an answer what came of it before its connection broke: each is cut after 1, 2, 3 … bytes. */
export function testCutAnswers(clients: () => readonly CutClient[]): void {
  let server: ScriptedServer;
  beforeAll(async () => {
    server = await serveScripted();
  });
  afterAll(async () => server?.close());

  describe.each(clients())(
    "R05 $name takes no answer for whole that was cut at any byte:",
    ({ ask, protocol, refusalGap }) => {
      const call = async (url: string, method: string, request: { execution_id: string } | typeof START) => {
        const [outcome] = await ask({
          url,
          protocol,
          token: "",
          service: "ExecutionService",
          method,
          requests: [request],
        });
        if (outcome === undefined) throw new Error("no outcome");
        return outcome;
      };

      const finished = async (): Promise<string> => {
        const id = String(mustFind([await call(server.url, "StartExecution", START)], "execution.id"));
        await call(server.url, "WatchEvents", { execution_id: id });
        return id;
      };

      /** Asks over a connection that is cut a little later each time, until one is not cut. */
      const askThroughCuts = async (
        ending: (typeof ENDINGS)[number],
        [method, id]: readonly [method: string, id: string],
        expectWhole: (answer: Outcome) => void,
      ): Promise<void> => {
        let afterBytes = 1;
        const proxy = await openProxy(server.port, () => ({ afterBytes, ending }));
        try {
          for (let isCut = true; isCut; afterBytes += STEP) {
            const ended = proxy.ended();
            const outcome = await call(`http://127.0.0.1:${proxy.port}`, method, { execution_id: id });
            const isAnswer = outcome.error === undefined || outcome.error.details.length > 0;
            if (isAnswer) expectWhole(outcome);
            else expect(outcome.error?.code, `after ${afterBytes} bytes`).not.toMatch(LASTING);
            isCut = !isAnswer || proxy.ended() > ended;
          }
          expect(proxy.ended()).toBeGreaterThan(100 / STEP);
        } finally {
          await proxy.close();
        }
      };

      test.each(ENDINGS)("a resource, by a %s", { timeout: 300_000 }, async (ending) => {
        const id = await finished();
        await askThroughCuts(ending, ["GetExecution", id], ({ responses, error }) => {
          expect(error).toBeUndefined();
          expect(responses).toMatchObject([{ execution: { id, final_output: "go" } }]);
        });
      });

      const knownGap = refusalGap === undefined ? test : test.fails;
      knownGap.each(ENDINGS)("a refusal, by a %s", { timeout: 300_000 }, async (ending) => {
        await askThroughCuts(ending, ["GetExecution", "exe_missing"], ({ error }) => {
          expect(error).toMatchObject({ code: "NOT_FOUND", details: [{ reason: "NOT_FOUND" }] });
        });
      });

      test.each(ENDINGS)("a stream, by a %s", { timeout: 300_000 }, async (ending) => {
        await askThroughCuts(ending, ["WatchEvents", await finished()], (outcome) => {
          expect(outcome.error).toBeUndefined();
          expect(eventsOf(outcome).at(-1)?.type).toBe("run.completed");
        });
      });
    },
  );
}

const START = { provider_id: "scripted", input: { text: "go" } };
