import { clone, create, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type StartExecutionRequest,
  StartExecutionRequestSchema,
} from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { type Execution, ExecutionSchema } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { RunMode } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import type { ProviderManifest } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { deadlineMs } from "./preflight.js";
import type { Caller } from "./runtime.js";
import type { ConversationRow, StartRecord } from "./store.js";

/** What a start request comes to once it has passed preflight. */
export interface Start {
  readonly executionId: string;
  readonly conversationId: string;
  readonly rootExecutionId: string;
  readonly caller: Caller;
  readonly manifest: ProviderManifest;
  readonly request: StartExecutionRequest;
  readonly nowMs: number;
}

/** Returns the immutable part of the execution that a request makes. */
export function startedExecution(start: Start): Execution {
  const { caller, manifest, nowMs } = start;
  const request = clone(StartExecutionRequestSchema, start.request);
  const deadline = deadlineMs(request, nowMs);
  return create(ExecutionSchema, {
    id: start.executionId,
    conversationId: start.conversationId,
    providerId: manifest.id,
    providerVersion: manifest.version,
    ...(request.input === undefined ? {} : { input: request.input }),
    requiredCapabilities: [...new Set([...request.requiredCapabilities, ...Object.keys(request.minimumLevels)])].sort(),
    minimumLevels: request.minimumLevels,
    effectiveConfig: request.config ?? {},
    labels: request.labels,
    runMode: request.runMode || RunMode.EXECUTE,
    ...(request.grants === undefined ? {} : { grants: request.grants }),
    ...(request.budgets === undefined ? {} : { budgets: request.budgets }),
    ...(deadline === undefined ? {} : { deadlineTime: timestampFromMs(deadline) }),
    ...(request.actionPolicy === undefined ? {} : { actionPolicy: request.actionPolicy }),
    ...(request.orphanPolicy === undefined ? {} : { orphanPolicy: request.orphanPolicy }),
    parentExecutionId: request.parentExecutionId,
    rootExecutionId: start.rootExecutionId,
    createTime: timestampFromMs(nowMs),
    tenantId: caller.tenantId,
    userId: caller.userId,
  });
}

/** Returns the start record that a store keeps of it. */
export function startRecord(execution: Execution, nowMs: number, newConversation?: ConversationRow): StartRecord {
  return {
    bytes: toBinary(ExecutionSchema, execution),
    conversationId: execution.conversationId,
    providerId: execution.providerId,
    parentExecutionId: execution.parentExecutionId,
    rootExecutionId: execution.rootExecutionId,
    labels: execution.labels,
    createTimeMs: nowMs,
    ...(newConversation === undefined ? {} : { newConversation }),
  };
}
