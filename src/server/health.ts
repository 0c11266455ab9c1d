import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type Health,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from "../../gen/ts/grpc/health/v1/health_pb.js";

/** Answers `grpc.health.v1.Health` for the server as a whole (the empty name) and for each of its services. */
export interface HealthState {
  /** From now on every service is NOT_SERVING; watchers are told. */
  stopServing(): void;
  readonly implementation: ServiceImpl<typeof Health>;
}

/** Begins with every service SERVING. `services` are full names, such as `harnessruntime.v1.ExecutionService`. */
export function createHealth(services: Iterable<string>): HealthState {
  const names = new Set(["", ...services]);
  const watchers = new Set<() => void>();
  let status = ServingStatus.SERVING;

  return {
    stopServing() {
      status = ServingStatus.NOT_SERVING;
      for (const wake of watchers) wake();
    },
    implementation: {
      check({ service }) {
        if (!names.has(service))
          throw new ConnectError(`no service is named ${JSON.stringify(service)}`, Code.NotFound);
        return create(HealthCheckResponseSchema, { status });
      },
      list: () => ({ statuses: Object.fromEntries(Array.from(names, (name) => [name, { status }])) }),
      watch: ({ service }, { signal }) =>
        watchStatus(() => (names.has(service) ? status : ServingStatus.SERVICE_UNKNOWN), watchers, signal),
    },
  };
}

async function* watchStatus(
  current: () => ServingStatus,
  watchers: Set<() => void>,
  signal: AbortSignal,
): AsyncGenerator<HealthCheckResponse> {
  let wake = (): void => undefined;
  const onChange = (): void => wake();
  watchers.add(onChange);
  signal.addEventListener("abort", onChange);
  try {
    let told: ServingStatus | undefined;
    for (;;) {
      if (current() !== told) {
        told = current();
        yield create(HealthCheckResponseSchema, { status: told });
      } else if (signal.aborted) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    watchers.delete(onChange);
    signal.removeEventListener("abort", onChange);
  }
}
