import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter, ConnectRouterOptions, Interceptor, ServiceImpl } from "@connectrpc/connect";
import { compressionGzip } from "@connectrpc/connect-node";
import { file_google_rpc_error_details } from "../../gen/ts/google/rpc/error_details_pb.js";
import { Health } from "../../gen/ts/grpc/health/v1/health_pb.js";
import { ServerReflection } from "../../gen/ts/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionV1Alpha } from "../../gen/ts/grpc/reflection/v1alpha/reflection_pb.js";
import { ActionService } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { ConversationService } from "../../gen/ts/harnessruntime/v1/conversation_service_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { RuntimeService } from "../../gen/ts/harnessruntime/v1/runtime_service_pb.js";
import type { Log } from "../core/provider.js";
import type { Runtime } from "../core/runtime.js";
import type { Authenticator } from "./auth.js";
import { createDrain, type Drain } from "./drain.js";
import { DETAIL_TYPES } from "./error-details.js";
import { convertErrors, createErrorConverter } from "./errors.js";
import { createGate } from "./gate.js";
import { createHealth, type HealthState } from "./health.js";
import { endLapsed } from "./lapse.js";
import type { ServerLimits } from "./limits.js";
import { createReflection } from "./reflection.js";
import { actionRoutes, conversationRoutes, executionRoutes, runtimeRoutes } from "./routes.js";
import { type MethodScope, scopesByMethod } from "./scopes.js";
import { openSideDoor } from "./side-door.js";
import { createValidate, validateRequests, warmUp } from "./validation.js";

/** A service that a server takes on beside its own. */
export interface ExtraService<Service extends DescService = DescService> {
  readonly service: Service;
  readonly implementation: Partial<ServiceImpl<Service>>;
  /** What all of its methods ask for. */
  readonly scope: MethodScope;
  /** The largest request message, in bytes. Default: the server's. */
  readonly maxRequestBytes?: number;
  /** The largest response message, in bytes. Default: the server's. */
  readonly maxResponseBytes?: number;
  /** Whether its streams go on while the server drains, which then does not wait for them. Default false. */
  readonly outlivesDrain?: boolean;
}

/** An {@link ExtraService}, whatever its methods are. */
export type AnyService = Omit<ExtraService, "implementation"> & { readonly implementation: object };

export interface RpcOptions {
  readonly runtime: Runtime;
  /** Unset: no credentials are asked for, and every caller is the user `local` of the tenant `local`. */
  readonly auth?: Authenticator | undefined;
  readonly services?: readonly AnyService[] | undefined;
  /** Whether event streams are written past the RPC library. Default true. */
  readonly sideDoor?: boolean | undefined;
  /** What DescribeRuntime says. Default `harness-runtime`. */
  readonly name?: string | undefined;
  readonly version: string;
  readonly limits: ServerLimits;
  readonly log: Log;
  nextErrorId(): string;
}

/** Everything that answers RPCs, without a port: what a server listens with, and what a test may call in its process. */
export interface Rpc {
  readonly services: readonly DescService[];
  readonly health: HealthState;
  readonly drain: Drain;
  readonly routerOptions: ConnectRouterOptions;
  routes(router: ConnectRouter): void;
  /** Whether a drain leaves a service's streams open. */
  outlivesDrain(service: DescService): boolean;
}

export function createRpc(options: RpcOptions): Rpc {
  const { runtime, limits, log, services: extra = [] } = options;
  const own = [RuntimeService, ConversationService, ExecutionService, ActionService];
  const answered = [...own, ...extra.map(({ service }) => service)];
  const services = [...answered, Health, ServerReflection, ServerReflectionV1Alpha];
  const errors = createErrorConverter(log, options.nextErrorId);
  const drain = createDrain();
  const validate = createValidate();
  const health = createHealth(answered.map(({ typeName }) => typeName));
  const reflection = createReflection(services, [file_google_rpc_error_details]);
  const lapse = options.auth === undefined ? [] : [endLapsed(options.auth, runtime.limits.heartbeatIntervalMs)];
  const interceptors: Interceptor[] = [convertErrors(errors), ...lapse, validateRequests(validate)];
  const streams = {
    runtime,
    drain,
    validate,
    errors,
    firstMessageMs: limits.requestTimeoutMs,
    openDoor: options.sideDoor === false ? () => undefined : openSideDoor,
  };
  const outliving = new Set(extra.filter(({ outlivesDrain }) => outlivesDrain).map(({ service }) => service));
  const description = {
    name: options.name ?? "harness-runtime",
    version: options.version,
    maxRequestBytes: limits.maxRequestBytes,
  };
  warmUp(
    validate,
    answered.flatMap((service) => service.methods),
  );

  return {
    services,
    health,
    drain,
    outlivesDrain: (service) => outliving.has(service),
    routerOptions: {
      acceptCompression: [compressionGzip],
      readMaxBytes: limits.maxRequestBytes,
      writeMaxBytes: limits.maxResponseBytes,
      jsonOptions: { registry: DETAIL_TYPES },
      requestGate: createGate({
        authenticator: options.auth,
        scopes: scopesByMethod(extra.map(({ service, scope }) => [service, scope])),
        drain,
        errors,
      }),
      interceptors,
    },
    routes(router) {
      router.service(RuntimeService, runtimeRoutes(runtime, description));
      router.service(ConversationService, conversationRoutes(runtime));
      router.service(ExecutionService, executionRoutes(streams));
      router.service(ActionService, actionRoutes(streams));
      router.service(Health, health.implementation, { shutdownSignal: drain.signal });
      router.service(ServerReflection, reflection.v1);
      router.service(ServerReflectionV1Alpha, reflection.v1alpha);
      for (const { service, implementation, maxRequestBytes, maxResponseBytes } of extra) {
        const methods = implementation as Partial<ServiceImpl<DescService>>;
        router.service(service, methods, {
          readMaxBytes: maxRequestBytes ?? limits.maxRequestBytes,
          writeMaxBytes: maxResponseBytes ?? limits.maxResponseBytes,
          shutdownSignal: drain.signal,
        });
      }
    },
  };
}
