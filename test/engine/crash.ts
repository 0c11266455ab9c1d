import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { onTestFinished } from "vitest";
import {
  SendInputRequestSchema,
  StartExecutionRequestSchema,
} from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import type { Execution } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { openRuntime } from "../../src/core/open-runtime.js";
import type { Runtime } from "../../src/core/runtime.js";
import { type DriverProviderOptions, driverProvider, type ExecutionDriver } from "../../src/engine.js";
import { openSqliteStore } from "../../src/store/sqlite.js";
import { ADA, NO_GRANTS } from "./fixtures.js";

/** One execution of a driver, over two processes' lives. */
export interface Crash {
  /** The driver of each life, the first from 1. */
  readonly driver: (life: number) => ExecutionDriver;
  readonly options?: Partial<DriverProviderOptions>;
  /** The request's config. */
  readonly config?: JsonObject;
  /** Resolves when the first life is to end. */
  readonly until: Promise<unknown>;
  /** Inputs of turns after the first. */
  readonly followUps?: readonly string[];
  /** Called in each life, once the execution is there. */
  readonly meanwhile?: (runtime: Runtime, executionId: string, life: number) => void;
}

/** Runs an execution until its runtime stops, goes on with it in another one, and returns how it ended. */
export async function overCrash({
  driver,
  options = {},
  until,
  followUps = [],
  meanwhile,
  config: wanted = {},
}: Crash): Promise<Execution> {
  const dir = await mkdtemp(join(tmpdir(), "crash-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  let executionId = "";
  const live = async <T>(life: number, work: (runtime: Runtime, providerId: string) => Promise<T>): Promise<T> => {
    const store = await openSqliteStore({ path: join(dir, "log.db") });
    const config = { grants: NO_GRANTS, cleanupTimeoutMs: 100, ...options };
    const provider = driverProvider(driver(life), { ...config, store });
    const runtime = await openRuntime({ store, providers: [provider] });
    try {
      return await work(runtime, provider.manifest.id);
    } finally {
      await runtime.close(0);
      await store.close();
    }
  };
  await live(1, async (runtime, providerId) => {
    const request = create(StartExecutionRequestSchema, { providerId, input: { text: "first" }, config: wanted });
    executionId = (await runtime.startExecution(ADA, request)).id;
    const mode = InputMode.FOLLOW_UP;
    for (const text of followUps) {
      await runtime.sendInput(ADA, create(SendInputRequestSchema, { executionId, input: { text }, mode }));
    }
    meanwhile?.(runtime, executionId, 1);
    await until;
  });
  return await live(2, async (runtime) => {
    meanwhile?.(runtime, executionId, 2);
    return await runtime.waitExecution(ADA, executionId, 10_000);
  });
}
