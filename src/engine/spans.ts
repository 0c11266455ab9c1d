import type { EngineConfig } from "./config.js";
import type { EventBus, TelemetryEvent } from "./event-bus.js";
import type { TokenUsage } from "./message.js";
import type { RunIdentity } from "./run-identity.js";

type Rest<T extends TelemetryEvent["type"]> = Omit<Extract<TelemetryEvent, { type: T }>, "type" | keyof Envelope>;

interface Envelope {
  readonly spanId: string;
  readonly runId: string;
  readonly sessionId: string;
  readonly timeMs: number;
}

/** One pair of telemetry events that is open. */
export interface OpenSpan<End extends TelemetryEvent["type"]> {
  end<T extends End>(type: T, rest: Rest<T>): void;
}

/** The telemetry of one run. Costs nothing where nobody gave a bus. */
export class Spans {
  readonly #bus: EventBus | undefined;
  readonly #config: EngineConfig;
  readonly #id: RunIdentity;
  #next = 1;
  #run: OpenSpan<"run.complete"> | undefined;

  constructor(config: EngineConfig, id: RunIdentity) {
    this.#bus = config.telemetry;
    this.#config = config;
    this.#id = id;
  }

  runStart(driverId: string): void {
    this.#run = this.#open<"run.start", "run.complete">("run.start", { driverId });
  }

  /** Nothing where the run was never started, or ended before. */
  runComplete(status: string, usage: TokenUsage): void {
    this.#run?.end("run.complete", { driverId: this.#config.driver.id, status, usage });
    this.#run = undefined;
  }

  model(rest: Rest<"model.start">): OpenSpan<"model.result" | "model.error"> {
    return this.#open<"model.start", "model.result" | "model.error">("model.start", rest);
  }

  controller(rest: Rest<"controller.start">): OpenSpan<"controller.result" | "controller.error"> {
    return this.#open<"controller.start", "controller.result" | "controller.error">("controller.start", rest);
  }

  tool(rest: Rest<"tool.start">): OpenSpan<"tool.result" | "tool.error"> {
    return this.#open<"tool.start", "tool.result" | "tool.error">("tool.start", rest);
  }

  #open<S extends TelemetryEvent["type"], E extends TelemetryEvent["type"]>(type: S, rest: Rest<S>): OpenSpan<E> {
    const spanId = `${this.#id.runId}:${this.#next++}`;
    this.#emit(spanId, type, rest);
    return { end: (endType, endRest) => this.#emit(spanId, endType, endRest) };
  }

  #emit<T extends TelemetryEvent["type"]>(spanId: string, type: T, rest: Rest<T>): void {
    if (this.#bus === undefined) return;
    const { runId, sessionId } = this.#id;
    try {
      this.#bus.emit({
        type,
        spanId,
        runId,
        sessionId,
        timeMs: this.#config.clock.now(),
        ...rest,
      } as unknown as TelemetryEvent);
    } catch {
      // A bus of the host's own that throws is not the run's failure.
    }
  }
}
