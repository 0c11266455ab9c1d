import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { ActionService } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import type { ConversationService } from "../../gen/ts/harnessruntime/v1/conversation_service_pb.js";
import type { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import type { RuntimeService } from "../../gen/ts/harnessruntime/v1/runtime_service_pb.js";
import { MAX_EVENT_BYTES, MAX_PENDING_INPUTS } from "../core/limits.js";
import { MAX_PAGE_SIZE } from "../core/paging.js";
import type { Runtime } from "../core/runtime.js";
import { type AttachOptions, attachExecution } from "./attach.js";
import { callerOf } from "./call.js";
import { type Drain, serverDraining } from "./drain.js";
import { listEvents, watchEvents } from "./execution-streams.js";
import { getExecution } from "./get-execution.js";
import { pageOf } from "./paging.js";

/** The protocol's version, a date. */
export const PROTOCOL_VERSION = "2026-09-02";

const DEFAULT_WAIT_MS = 30_000;
const MAX_WAIT_MS = 600_000;

/** What a server says of itself. */
export interface Description {
  readonly name: string;
  readonly version: string;
  readonly maxRequestBytes: number;
}

export function runtimeRoutes(runtime: Runtime, description: Description): ServiceImpl<typeof RuntimeService> {
  return {
    describeRuntime: () => ({
      name: description.name,
      version: description.version,
      protocolVersion: PROTOCOL_VERSION,
      providers: runtime.listProviders().flatMap(({ manifest }) => (manifest === undefined ? [] : [manifest])),
      limits: {
        maxEventBytes: MAX_EVENT_BYTES,
        maxRequestBytes: description.maxRequestBytes,
        maxPageSize: MAX_PAGE_SIZE,
        maxQueuedInputs: MAX_PENDING_INPUTS,
        heartbeatInterval: durationFromMs(runtime.limits.heartbeatIntervalMs),
      },
    }),
    listProviders: (request) => {
      const { items, nextPageToken } = pageOf(runtime.listProviders(), request, ({ manifest }) => manifest?.id ?? "");
      return { providers: [...items], nextPageToken };
    },
    getProvider: ({ providerId }) => ({ provider: runtime.getProvider(providerId) }),
  };
}

export function conversationRoutes(runtime: Runtime): ServiceImpl<typeof ConversationService> {
  return {
    createConversation: async (request, context) => ({
      conversation: await runtime.createConversation(callerOf(context), request),
    }),
    getConversation: async ({ conversationId }, context) => ({
      conversation: await runtime.getConversation(callerOf(context), conversationId),
    }),
    listConversations: (request, context) => runtime.listConversations(callerOf(context), request),
  };
}

export function executionRoutes(options: AttachOptions): ServiceImpl<typeof ExecutionService> {
  const { runtime, openDoor, drain } = options;
  return {
    startExecution: async (request, context) => ({
      execution: await runtime.startExecution(callerOf(context), request),
    }),
    getExecution: (request, context) => getExecution(runtime, request, context),
    listExecutions: (request, context) => runtime.listExecutions(callerOf(context), request),
    waitExecution: async ({ executionId, timeout }, context) => ({
      execution: await runtime.waitExecution(callerOf(context), executionId, waitMsOf(timeout), context.signal),
    }),
    cancelExecution: async (request, context) => ({
      execution: await runtime.cancelExecution(callerOf(context), request, context.signal),
    }),
    sendInput: (request, context) => runtime.sendInput(callerOf(context), request),
    withdrawInput: async (request, context) => ({
      execution: await runtime.withdrawInput(callerOf(context), request),
    }),
    listEvents: (request, context) => listEvents(runtime, request, context),
    watchEvents: (request, context) => watchEvents(runtime, request, context, openDoor, drain),
    attachExecution: (commands, context) => attachExecution(commands, context, options),
    watchExecutions: (request, context) =>
      untilDrained(runtime.watchExecutions(callerOf(context), request, untilDrain(context, drain)), drain),
    listArtifacts: (request, context) => runtime.listArtifacts(callerOf(context), request),
    getArtifact: async ({ executionId, artifactId }, context) => ({
      artifact: await runtime.getArtifact(callerOf(context), executionId, artifactId),
    }),
  };
}

export function actionRoutes({
  runtime,
  drain,
}: Pick<AttachOptions, "runtime" | "drain">): ServiceImpl<typeof ActionService> {
  return {
    respondAction: (request, context) => runtime.respondAction(callerOf(context), request),
    getAction: async ({ executionId, actionId }, context) => ({
      action: await runtime.getAction(callerOf(context), executionId, actionId),
    }),
    listActions: (request, context) => runtime.listActions(callerOf(context), request),
    watchActions: (request, context) =>
      untilDrained(runtime.watchActions(callerOf(context), request, untilDrain(context, drain)), drain),
  };
}

function waitMsOf(timeout: Duration | undefined): number {
  if (timeout === undefined) return DEFAULT_WAIT_MS;
  return Math.min(durationMs(timeout), MAX_WAIT_MS);
}

/** Aborted when the caller leaves or the server goes away. */
function untilDrain(context: Pick<HandlerContext, "signal">, drain: Drain): AbortSignal {
  return AbortSignal.any([context.signal, drain.signal]);
}

/** A view has no cursor to go on from: when the server goes away its reader starts over elsewhere. */
async function* untilDrained<T>(view: AsyncIterable<T>, drain: Drain): AsyncGenerator<T> {
  yield* view;
  if (drain.begun) throw serverDraining();
}
