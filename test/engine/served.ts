import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { onTestFinished } from "vitest";
import type { ActionRequest, ActionResponseSchema } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import {
  RespondActionRequestSchema,
  WatchActionsRequestSchema,
} from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { StartExecutionRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import type { Execution } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { openRuntime } from "../../src/core/open-runtime.js";
import type { Runtime } from "../../src/core/runtime.js";
import type { Store } from "../../src/core/store.js";
import { type DriverProviderOptions, driverProvider, type ExecutionDriver } from "../../src/engine.js";
import { openMemoryStore } from "../../src/store/memory.js";
import { ADA, driver, NO_GRANTS, type Script } from "./fixtures.js";

/** A driver behind the contract, as clients reach it. */
export interface Served {
  readonly runtime: Runtime;
  start(text: string, more?: MessageInitShape<typeof StartExecutionRequestSchema>): Promise<Execution>;
  openAction(executionId: string): Promise<ActionRequest>;
  respond(
    executionId: string,
    actionId: string,
    response: MessageInitShape<typeof ActionResponseSchema>,
  ): Promise<void>;
  wait(executionId: string): Promise<Execution>;
}

/** Serves a driver in this process until the test is over. */
export async function openServed(
  script: Script | ExecutionDriver,
  options: Partial<DriverProviderOptions> = {},
  store: Store = openMemoryStore(),
): Promise<Served> {
  const made = typeof script === "function" ? driver(script) : script;
  const provider = driverProvider(made, { grants: NO_GRANTS, cleanupTimeoutMs: 200, ...options });
  const runtime = await openRuntime({ store, providers: [provider] });
  onTestFinished(async () => {
    await runtime.close(0);
    await store.close();
  });
  return {
    runtime,
    start: (text, more = {}) => {
      const request = create(StartExecutionRequestSchema, { providerId: provider.manifest.id, input: { text } });
      return runtime.startExecution(ADA, create(StartExecutionRequestSchema, { ...request, ...more } as never));
    },
    async openAction(executionId) {
      const abort = new AbortController();
      const request = create(WatchActionsRequestSchema, { executionId });
      for await (const { actions } of runtime.watchActions(ADA, request, abort.signal)) {
        const [action] = actions;
        if (action === undefined) continue;
        abort.abort();
        return action;
      }
      throw new Error("no action was opened");
    },
    async respond(executionId, actionId, response) {
      await runtime.respondAction(ADA, create(RespondActionRequestSchema, { executionId, actionId, response }));
    },
    wait: (executionId) => runtime.waitExecution(ADA, executionId, 10_000),
  };
}
