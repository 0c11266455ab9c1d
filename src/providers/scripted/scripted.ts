import { create } from "@bufbuild/protobuf";
import { ProviderManifestSchema, SupportLevel, Topology } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { type Clock, systemClock } from "../../core/clock.js";
import type { Provider, ProviderContext, TurnOutcome } from "../../core/provider.js";
import { SCRIPT_EXAMPLES } from "./examples.js";
import { playStep, playWords } from "./players.js";
import { SCRIPT_SCHEMA, type Script, type Step, type StepKind, wordsOf } from "./script.js";
import { Stage, TurnAborted } from "./stage.js";

/** What may be set of a scripted provider. */
export interface ScriptedSettings {
  /** Declares `conversation.continuity` as EMULATED, so that executions of one conversation run one at a time. Default false. */
  readonly continuity?: boolean;
  /** The most executions at a time. Default 1,000. */
  readonly capacity?: number;
  /** Measures `sleep_ms` and `pace_ms`. Default: the machine's. */
  readonly clock?: Clock;
}

const { NATIVE, EMULATED, DEGRADED, UNSUPPORTED } = SupportLevel;

/**
 * The provider `scripted`: plays the {@link Script} in the execution's config, and with none echoes the input word by
 * word. It needs no model and no network, and takes a crash as a pause.
 */
export function scriptedProvider(settings: ScriptedSettings = {}): Provider {
  const clock = settings.clock ?? systemClock;
  return {
    manifest: create(ProviderManifestSchema, {
      id: "scripted",
      name: "Scripted",
      version: "1.0.0",
      protocolVersion: "2026-09-02",
      topologies: [Topology.EMBEDDED],
      configSchema: SCRIPT_SCHEMA,
      metadata: { examples: SCRIPT_EXAMPLES },
      capabilities: {
        "action.approval": NATIVE,
        "action.input": NATIVE,
        "artifact.list": NATIVE,
        "conversation.continuity": settings.continuity ? EMULATED : UNSUPPORTED,
        "event.replay": NATIVE,
        "event.streaming": NATIVE,
        "execution.cancel": NATIVE,
        "execution.resume": NATIVE,
        "extension.mcp": UNSUPPORTED,
        "extension.sandbox": DEGRADED,
        "extension.skills": UNSUPPORTED,
        "extension.subagents": UNSUPPORTED,
        "input.follow_up": NATIVE,
        "input.replace": NATIVE,
        "input.steer": NATIVE,
        "policy.completion": UNSUPPORTED,
        "policy.grants": UNSUPPORTED,
        "policy.plan": UNSUPPORTED,
      },
    }),
    capacity: settings.capacity ?? 1_000,

    run: async (context) => runTurn(new Stage(context, clock), context.turn === 1 ? scriptOf(context) : {}),

    async cancel(context) {
      if (hasStep(context, "hang_cancel")) await new Promise<never>(() => undefined);
      return undefined;
    },

    async dispose(context) {
      if (hasStep(context, "emit_after_end")) {
        await context.emit({ case: "outputTextDelta", value: { text: "after the end" } });
      }
    },
  };
}

async function runTurn(stage: Stage, script: Script): Promise<TurnOutcome> {
  try {
    return (await play(stage, script)) ?? succeeded(stage.context, script);
  } catch (error) {
    const heedsAbort = stage.context.signal.aborted && !stage.ignoresAbort;
    if (heedsAbort || error instanceof TurnAborted) return { status: "cancelled" };
    throw error;
  }
}

async function play(stage: Stage, { steps }: Script): Promise<TurnOutcome | undefined> {
  if (steps === undefined) return playWords(stage, wordsOf(stage.context.input.text), 0);
  stage.ignoresAbort = steps.slice(0, stage.step).some((step) => "ignore_abort" in step);
  for (let step = steps[stage.step]; step !== undefined; step = steps[stage.step]) {
    stage.checkAborted();
    const outcome = await playStep(stage, step);
    if (outcome !== undefined) return outcome;
    stage.nextStep();
  }
  return undefined;
}

function succeeded(context: ProviderContext, { steps, final_output, structured_output }: Script): TurnOutcome {
  const finalOutput = final_output ?? (steps === undefined ? context.input.text : undefined);
  return {
    status: "succeeded",
    ...(finalOutput === undefined ? {} : { finalOutput }),
    ...(structured_output === undefined ? {} : { structuredOutput: structured_output }),
  };
}

/** The config, which the runtime has checked against {@link SCRIPT_SCHEMA}. */
function scriptOf({ config }: ProviderContext): Script {
  return config as Script;
}

function hasStep(context: ProviderContext, kind: StepKind): boolean {
  const steps: readonly Step[] = scriptOf(context).steps ?? [];
  return steps.some((step) => kind in step);
}
