import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { expect, onTestFinished, test } from "vitest";
import { CreateConversationRequestSchema } from "../../gen/ts/harnessruntime/v1/conversation_service_pb.js";
import { StartExecutionRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { openRuntime } from "../../src/core/open-runtime.js";
import type { Runtime } from "../../src/core/runtime.js";
import type { Store } from "../../src/core/store.js";
import { driverProvider, type ExecutionDriver, teamDriver } from "../../src/engine.js";
import { openMemoryStore } from "../../src/store/memory.js";
import { openSqliteStore } from "../../src/store/sqlite.js";
import { ADA, driver, NO_GRANTS } from "./fixtures.js";

async function tempFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "served-sessions-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  return dir;
}

/** Serves a driver as `harness serve` does, for as long as `work` takes. */
async function serving<T>(
  made: ExecutionDriver,
  store: Store,
  dataDir: string,
  work: (runtime: Runtime) => Promise<T>,
) {
  const runtime = await openRuntime({ store, dataDir, providers: [driverProvider(made, { grants: NO_GRANTS })] });
  try {
    return await work(runtime);
  } finally {
    await runtime.close(0);
    await store.close();
  }
}

async function run(runtime: Runtime, providerId: string, text: string, conversationId = ""): Promise<string> {
  const request = create(StartExecutionRequestSchema, { providerId, conversationId, input: { text } });
  const { id } = await runtime.startExecution(ADA, request);
  return (await runtime.waitExecution(ADA, id, 10_000)).finalOutput ?? "";
}

const filesOf = (dataDir: string, providerId: string) => readdir(join(dataDir, "providers", providerId, "sessions"));

test("E113 a conversation of a served driver goes on after a restart", async () => {
  const dataDir = await tempFolder();
  const made = driver((services, { input }) => `${input} after ${services.history.length}`);
  const open = () => openSqliteStore({ dataDir });
  const { id } = await serving(made, await open(), dataDir, async (runtime) => {
    const conversation = await runtime.createConversation(ADA, create(CreateConversationRequestSchema));
    expect(await run(runtime, "test-driver", "first", conversation.id)).toBe("first after 0");
    return conversation;
  });
  await serving(made, await open(), dataDir, async (runtime) => {
    expect(await run(runtime, "test-driver", "second", id)).toBe("second after 2");
    expect(await run(runtime, "test-driver", "other")).toBe("other after 0");
  });
});

test("E113 where the store does not outlive the process, nothing is left in files", async () => {
  const dataDir = await tempFolder();
  await serving(
    driver(() => "ok"),
    openMemoryStore(),
    dataDir,
    (runtime) => run(runtime, "test-driver", "hi"),
  );
  expect(await readdir(dataDir)).toEqual([]);
});

test("E113 nothing is kept of a team's members once the team's own run is over", async () => {
  const dataDir = await tempFolder();
  const member = { driver: driver((services) => `${services.history.length}`) };
  const team = teamDriver({
    id: "team",
    members: { one: member },
    run: async ({ ask }) => (await ask("one", "go")).text,
  });
  await serving(team, await openSqliteStore({ dataDir }), dataDir, async (runtime) => {
    expect(await run(runtime, "team", "hi")).toBe("0");
    expect(await run(runtime, "team.one", "by itself")).toBe("0");
  });
  expect((await filesOf(dataDir, "team")).length).toBe(1);
  expect((await filesOf(dataDir, "team.one")).length).toBe(1);
});
