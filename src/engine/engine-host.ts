import type { ProviderHost } from "../core/provider.js";
import type { EngineConfig } from "./config.js";

/** What every run of one driver shares. */
export interface EngineHost {
  readonly config: EngineConfig;
  /** The runtime that the driver's provider joined. */
  readonly runtime: () => ProviderHost["runtime"];
  /** What the embedded runtime knows of a run it started itself; undefined for runs of other callers. */
  readonly local: (runId: string) => LocalRunLink | undefined;
}

/** The way from a run back to whoever started it in this process. */
export interface LocalRunLink {
  readonly sessionId: string;
  /** Resolves when the start is recorded, and a cancel that came with it too. Until then no driver is entered. */
  readonly admitted: Promise<void>;
  /** Milliseconds since 1970-01-01 UTC. */
  readonly deadline: number | undefined;
  readonly onConflict: "refuse" | "queue";
  readonly parentRunId: string | undefined;
  readonly rootRunId: string | undefined;
  /** The run took its session and may have to be waited for. */
  entered(): void;
  /** Everything of the run is over, after its terminal event. */
  settled(diagnostics: readonly string[]): void;
}
