import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { Health } from "../../gen/ts/grpc/health/v1/health_pb.js";
import { ServerReflection } from "../../gen/ts/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionV1Alpha } from "../../gen/ts/grpc/reflection/v1alpha/reflection_pb.js";
import { ActionService } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { ConversationService } from "../../gen/ts/harnessruntime/v1/conversation_service_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { RuntimeService } from "../../gen/ts/harnessruntime/v1/runtime_service_pb.js";
import type { Scope } from "./auth.js";

/** What a method asks of its caller: nothing, any credentials, or credentials with a scope. */
export type MethodScope = "public" | "authenticated" | Scope;

type ScopeRow<Service extends DescService> = Readonly<Record<keyof Service["method"], MethodScope>>;

const RUNTIME: ScopeRow<typeof RuntimeService> = {
  describeRuntime: "read",
  listProviders: "read",
  getProvider: "read",
};

const CONVERSATION: ScopeRow<typeof ConversationService> = {
  createConversation: "run",
  getConversation: "read",
  listConversations: "read",
};

const EXECUTION: ScopeRow<typeof ExecutionService> = {
  startExecution: "run",
  getExecution: "read",
  listExecutions: "read",
  waitExecution: "read",
  cancelExecution: "run",
  sendInput: "run",
  withdrawInput: "run",
  listEvents: "read",
  watchEvents: "read",
  attachExecution: "run",
  watchExecutions: "read",
  listArtifacts: "read",
  getArtifact: "read",
};

const ACTION: ScopeRow<typeof ActionService> = {
  respondAction: "respond",
  getAction: "read",
  listActions: "read",
  watchActions: "read",
};

const HEALTH: ScopeRow<typeof Health> = { check: "public", list: "authenticated", watch: "authenticated" };
const REFLECTION: ScopeRow<typeof ServerReflection> = { serverReflectionInfo: "authenticated" };

/** The services of every server, each with a row for every method: a method without one does not compile. */
const TABLE: readonly (readonly [DescService, Readonly<Record<string, MethodScope>>])[] = [
  [RuntimeService, RUNTIME],
  [ConversationService, CONVERSATION],
  [ExecutionService, EXECUTION],
  [ActionService, ACTION],
  [Health, HEALTH],
  [ServerReflection, REFLECTION],
  [ServerReflectionV1Alpha, REFLECTION],
];

/** Returns what each method asks for. `extra` names further services with one scope each. */
export function scopesByMethod(
  extra: Iterable<readonly [DescService, MethodScope]>,
): ReadonlyMap<DescMethod, MethodScope> {
  const scopes = new Map<DescMethod, MethodScope>();
  for (const [service, row] of TABLE) {
    for (const method of service.methods) {
      const scope = row[method.localName];
      if (scope !== undefined) scopes.set(method, scope);
    }
  }
  for (const [service, scope] of extra) {
    for (const method of service.methods) scopes.set(method, scope);
  }
  return scopes;
}
