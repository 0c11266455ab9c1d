import type { TokenUsage } from "./message.js";

/** Tells observers what goes on, with no prompts, arguments or answers in it. What an observer throws is dropped. */
export interface EventBus {
  emit(event: TelemetryEvent): void;
  /** Calls `listener` for each event, in order; the returned function ends it. */
  on(listener: (event: TelemetryEvent) => void): () => void;
}

/**
 * One end of a pair: every `start` is followed by one `complete`, `result` or
 * `error` with the same `spanId`.
 */
export type TelemetryEvent =
  | (Span & { readonly type: "run.start"; readonly driverId: string })
  | (Span & {
      readonly type: "run.complete";
      readonly driverId: string;
      readonly status: string;
      readonly usage: TokenUsage;
    })
  | (Span & ModelCall & { readonly type: "model.start" })
  | (Span & ModelCall & { readonly type: "model.result"; readonly usage: TokenUsage; readonly finishReason: string })
  | (Span & ModelCall & { readonly type: "model.error"; readonly errorName: string })
  | (Span & ControllerCall & { readonly type: "controller.start" })
  | (Span & ControllerCall & { readonly type: "controller.result" })
  | (Span & ControllerCall & { readonly type: "controller.error"; readonly errorName: string })
  | (Span & { readonly type: "tool.start"; readonly toolName: string })
  | (Span & { readonly type: "tool.result"; readonly toolName: string; readonly denial?: string })
  | (Span & { readonly type: "tool.error"; readonly toolName: string; readonly errorName: string });

interface Span {
  readonly spanId: string;
  readonly runId: string;
  readonly sessionId: string;
  /** Milliseconds since 1970-01-01 UTC. */
  readonly timeMs: number;
}

interface ControllerCall {
  readonly controllerId: string;
  /** From 0. Unset where the controller prepares the run. */
  readonly step?: number;
}

interface ModelCall {
  readonly role: string;
  readonly providerId: string;
  readonly modelId: string;
  /** Whether it was a policy's own call. */
  readonly control: boolean;
}

/** Returns a bus of this process. */
export function createEventBus(): EventBus {
  const listeners = new Set<(event: TelemetryEvent) => void>();
  return {
    emit(event) {
      for (const listener of [...listeners]) isolate(() => listener(event));
    },
    on(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Runs an observer, whose failures are its own. */
export function isolate(observe: () => unknown): void {
  try {
    const result = observe();
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // An observer's failure is not the run's.
  }
}
