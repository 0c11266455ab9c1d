import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTokens } from "../../src/server/tokens.js";
import { SERVICES } from "./ask.js";
import { mustFind } from "./like.js";
import type { Ask, Outcome } from "./question.js";
import { type ScriptedServer, serveScripted } from "./scripted-server.js";
import { playCase, readCases } from "./table.js";

/** A client of some language over some protocol. */
export interface Client {
  readonly name: string;
  readonly protocol: string;
  readonly bidi: boolean;
  readonly ask: Ask;
}

/** Plays every case by every client, against one server with authentication. */
export function testCases(clients: () => readonly Client[]): void {
  let server: ScriptedServer;
  let tokens: Record<string, string>;
  const folder = mkdtempSync(join(tmpdir(), "harness-tokens-"));
  beforeAll(async () => {
    const auth = openTokens(join(folder, "tokens.json"));
    const make = async (tenantId: string, userId: string) => (await auth.create({ tenantId, userId })).secret;
    tokens = { ann: await make("acme", "ann"), ben: await make("acme", "ben"), eve: await make("rival", "eve") };
    Object.assign(tokens, { nobody: "", mallory: `${tokens["ann"]}x` });
    server = await serveScripted({ auth });
  });
  afterAll(async () => {
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  describe.each(clients())("$name", ({ ask, protocol, bidi }) => {
    for (const [file, cases] of readCases()) {
      describe(file, () => {
        for (const one of cases.filter((candidate) => candidate.bidi === undefined || candidate.bidi === bidi)) {
          test(one.name, async () => playCase(one, { ask, url: server.url, protocol, tokens }));
        }
      });
    }

    test.each(methods(bidi))("W05 %s without a token and with a wrong one is UNAUTHENTICATED", async (call) => {
      const error = { code: "UNAUTHENTICATED", reason: "UNAUTHENTICATED" };
      const calls = ["nobody", "mallory"].map((as) => ({ call, as, error }));
      await playCase({ name: call, calls }, { ask, url: server.url, protocol, tokens });
    });

    test("W02 a stream of a server that drains ends with RESUME_AFTER, and where to go on", async () => {
      await followIntoDrain(ask, protocol);
    });
  });
}

/** Every method that the client can call, such as `ExecutionService.GetExecution`. */
function methods(bidi: boolean): string[] {
  return SERVICES.flatMap((service) =>
    service.methods
      .filter(({ methodKind }) => bidi || methodKind !== "bidi_streaming")
      .map((method) => `${service.name}.${method.name}`),
  );
}

const NOTHING: Outcome = { responses: [], bytes: [] };

async function followIntoDrain(ask: Ask, protocol: string): Promise<void> {
  const followed = Promise.withResolvers<void>();
  const server = await serveScripted({ onFirstFrame: followed.resolve });
  const common = { url: server.url, protocol, token: "", service: "ExecutionService" };
  try {
    const request = { provider_id: "scripted", input: { text: "go" }, config: { steps: [{ await_steer: true }] } };
    const [started] = await ask({ ...common, method: "StartExecution", requests: [request] });
    const id = mustFind([started ?? NOTHING], "execution.id");
    const drained = followed.promise.then(() => server.server.drain());
    const [stream] = await ask({ ...common, method: "WatchEvents", requests: [{ execution_id: id }] });
    await drained;
    const shown = stream?.responses.at(-1)?.["next_after_sequence"];
    expect(shown).toBeGreaterThan(0);
    expect(stream?.error).toMatchObject({
      code: "UNAVAILABLE",
      details: [
        { reason: "RESUME_AFTER", domain: "harnessruntime", metadata: { after_sequence: String(shown) } },
        { type: "google.rpc.RetryInfo" },
      ],
    });
  } finally {
    await server.close();
  }
}
