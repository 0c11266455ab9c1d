import type { ProviderManifest } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { type Bounded, bounded, promised } from "./bounded.js";
import { cancelTimeoutOf } from "./clean-up.js";
import type { Clock } from "./clock.js";
import type { Failure } from "./decide-run.js";
import type { HaltSwitch } from "./halt.js";
import { checkOutcome, type TurnEnd, thrown } from "./outcome.js";
import type { Provider } from "./provider.js";
import { ProviderLostError } from "./provider-lost.js";
import type { Turn } from "./turn.js";
import { TurnAbortedError } from "./turn-aborted.js";

/** How a call of a provider for one turn came to an end. */
export type CallEnd =
  /** The provider returned, or threw. */
  | { readonly kind: "ended"; readonly end: TurnEnd }
  /** Whoever did the work is gone; where nobody can go on, the execution fails with this. */
  | { readonly kind: "lost"; readonly failure: Failure }
  /** A new input took the turn's place, and the provider stopped. */
  | { readonly kind: "replaced" }
  /** A new input took the turn's place, and the provider did not stop within its limit. */
  | { readonly kind: "stuck"; readonly limitMs: number }
  /** The execution does not go on; the provider may still run. */
  | { readonly kind: "halted" };

/** A provider's work on one turn. */
export interface ProviderCall {
  /** Settles when the provider's own promise does. */
  readonly running: Promise<unknown>;
  readonly ended: Promise<CallEnd>;
}

/** Calls a provider for one turn, until it returns, `replaced` resolves or the execution is halted. */
export function callProvider(
  clock: Clock,
  provider: Provider,
  turn: Turn,
  halt: HaltSwitch,
  replaced: Promise<void>,
): ProviderCall {
  const { manifest } = provider;
  const running = promised(() => provider.run(turn));
  const settled = running.then(
    (value): Bounded<unknown> => ({ kind: "done", value }),
    (error: unknown): Bounded<unknown> => ({ kind: "threw", error }),
  );
  const ended = Promise.race([
    settled.then((end) => () => finish(end, turn, manifest)),
    replaced.then(() => () => replace(clock, provider, turn, settled)),
  ]).then(async (goOn): Promise<CallEnd> => (halt.halt === undefined ? await goOn() : { kind: "halted" }));
  return { running, ended: halt.unlessHalted(ended).then((end) => end ?? { kind: "halted" }) };
}

async function replace(clock: Clock, provider: Provider, turn: Turn, settled: Promise<unknown>): Promise<CallEnd> {
  turn.abort(new TurnAbortedError("replaced", "the turn was replaced by a new input"));
  const limitMs = cancelTimeoutOf(provider);
  const gone = await bounded(clock, limitMs, settled);
  turn.end();
  return gone.kind === "late" ? { kind: "stuck", limitMs } : { kind: "replaced" };
}

async function finish(end: Bounded<unknown>, turn: Turn, manifest: ProviderManifest): Promise<CallEnd> {
  turn.end();
  if (end.kind !== "threw") {
    const value = end.kind === "done" ? end.value : undefined;
    return { kind: "ended", end: checkOutcome(value, await turn.collectText(), manifest) };
  }
  const failure = thrown(end.error);
  if (end.error instanceof ProviderLostError) return { kind: "lost", failure };
  return { kind: "ended", end: { kind: "failed", failure } };
}
