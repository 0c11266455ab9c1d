import { Code } from "@connectrpc/connect";
import { batch, type ReadonlySignal, signal } from "@preact/signals";
import { HealthCheckResponse_ServingStatus as ServingStatus } from "../../../gen/ts/grpc/health/v1/health_pb.js";
import type { Provider } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { DescribeRuntimeResponse } from "../../../gen/ts/harnessruntime/v1/runtime_service_pb.js";
import { type HarnessRpcError, isRetryable, toRpcError } from "../../client/errors.js";
import { client, health, unanswered } from "../session.js";
import { whileVisible } from "./pulse.js";

/** Whether the server answers, and takes work. */
export type ServerHealth = "unknown" | "serving" | "draining" | "unreachable";

const healthSignal = signal<ServerHealth>("unknown");
const pendingSignal = signal(0);
const morePending = signal(false);
const providersSignal = signal<readonly Provider[] | undefined>(undefined);
const refusalSignal = signal<HarnessRpcError | undefined>(undefined);
const descriptionSignal = signal<DescribeRuntimeResponse | undefined>(undefined);

export const serverHealth: ReadonlySignal<ServerHealth> = healthSignal;
/** How many actions wait for an answer, up to {@link MOST_PENDING}. */
export const pendingActions: ReadonlySignal<number> = pendingSignal;
export const pendingActionsMore: ReadonlySignal<boolean> = morePending;
/** All providers by id; undefined until they were read. */
export const providers: ReadonlySignal<readonly Provider[] | undefined> = providersSignal;
/** Why the server does not show the providers; undefined while it may. */
export const providersRefusal: ReadonlySignal<HarnessRpcError | undefined> = refusalSignal;
/** What the runtime says of itself; undefined until it was read. */
export const description: ReadonlySignal<DescribeRuntimeResponse | undefined> = descriptionSignal;

const HEALTH_MS = 10_000;
/** A server that does not answer is asked more often. */
const UNREACHABLE_MS = 1_500;
const PENDING_MS = 4_000;
const PROVIDERS_MS = 10_000;
const MOST_PENDING = 99;

/** Keeps what every view needs to know: by short calls now and then, so that the one stream is the view's own. */
export function watchServer(signal: AbortSignal): void {
  refusalSignal.value = undefined;
  void whileVisible(readHealth, signal);
  void whileVisible(async () => await readPending().then(() => PENDING_MS), signal);
  void whileVisible(async () => await readProviders().then(() => PROVIDERS_MS), signal);
  const first = unanswered.peek();
  const forget = unanswered.subscribe((count) => {
    if (count > first && healthSignal.peek() !== "unreachable") void readHealth();
  });
  signal.addEventListener("abort", forget, { once: true });
}

/** Shows a number of pending actions that a view knows better. */
export function notePendingActions(count: number): void {
  pendingSignal.value = Math.min(count, MOST_PENDING);
  morePending.value = count > MOST_PENDING;
}

/** Reads the providers now. */
export async function readProviders(): Promise<void> {
  try {
    const all: Provider[] = [];
    let pageToken = "";
    do {
      const page = await client.runtime.listProviders({ pageToken, pageSize: 1_000 });
      all.push(...page.providers);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    batch(() => {
      providersSignal.value = all;
      refusalSignal.value = undefined;
    });
    descriptionSignal.value ??= await client.runtime.describeRuntime({});
  } catch (error) {
    // Where nobody answers, health says it.
    if (!isRetryable(error)) refusalSignal.value = toRpcError(error);
  }
}

/** Reads the number of pending actions now. */
export async function readPending(): Promise<void> {
  try {
    const { actions, nextPageToken } = await client.actions.listActions({ pageSize: MOST_PENDING });
    pendingSignal.value = actions.length;
    morePending.value = nextPageToken !== "";
  } catch {
    // Health says it.
  }
}

/** Returns after how many milliseconds to ask again. */
async function readHealth(): Promise<number> {
  try {
    const { status } = await health.check({}, { timeoutMs: 5_000 });
    healthSignal.value = status === ServingStatus.SERVING ? "serving" : "draining";
  } catch (error) {
    healthSignal.value = toRpcError(error).code === Code.Unauthenticated ? "serving" : "unreachable";
  }
  return healthSignal.peek() === "unreachable" ? UNREACHABLE_MS : HEALTH_MS;
}
