import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { unbounded, type Within } from "./bound.js";
import type { ContextSource } from "./context-source.js";
import { messageOf, RunFailure } from "./errors.js";
import type { ModelMiddleware } from "./middleware.js";
import type { RunContext } from "./run-context.js";
import type { ToolDef } from "./tool.js";

/** Something that a run can do, as one piece: tools with the words, sources and middleware that go with them. */
export interface HarnessAbility {
  /** Unique in a run. */
  readonly name: string;
  /** Called once a run, before its driver, in the order in which abilities are listed. The context's signal is aborted when the run ends. */
  bind(ctx: RunContext): AbilityBinding | Promise<AbilityBinding>;
}

/** What an ability brings to one run. */
export interface AbilityBinding {
  /** Subject to the grants as every tool is. */
  readonly tools?: readonly ToolDef[];
  /** System text, put after the driver's own. */
  readonly prompts?: readonly string[];
  readonly contextSources?: readonly ContextSource[];
  readonly middleware?: readonly ModelMiddleware[];
  /** Called at the end of the run, the last bound first. */
  dispose?(): Promise<void> | void;
}

/** All that the abilities of a run bring. */
export interface BoundAbilities {
  readonly tools: readonly ToolDef[];
  readonly prompts: readonly string[];
  readonly contextSources: readonly ContextSource[];
  readonly middleware: readonly ModelMiddleware[];
  /** Ends them in reverse order; returns what went wrong. */
  dispose(within?: Within): Promise<readonly string[]>;
}

/**
 * Binds abilities in order. Where one fails or a name is there twice, those
 * already bound are disposed and a {@link RunFailure} is thrown.
 */
export async function bindAbilities(
  abilities: readonly HarnessAbility[],
  hostTools: readonly ToolDef[],
  ctx: RunContext,
): Promise<BoundAbilities> {
  const bound: { readonly name: string; readonly binding: AbilityBinding }[] = [];
  const dispose = (within = unbounded): Promise<readonly string[]> => disposeAll(bound, within);
  try {
    uniqueNames(
      "ability",
      abilities.map(({ name }) => name),
    );
    for (const ability of abilities) {
      bound.push({ name: ability.name, binding: await ability.bind(ctx) });
      ctx.signal.throwIfAborted();
    }
    const all = collect(bound.map(({ binding }) => binding));
    const tools = [...hostTools, ...all.tools];
    uniqueNames(
      "tool",
      tools.map(({ name }) => name),
    );
    uniqueNames(
      "context source",
      all.contextSources.map(({ id }) => id),
    );
    uniqueNames(
      "middleware",
      all.middleware.map(({ name }) => name),
    );
    return { ...all, tools, dispose };
  } catch (error) {
    await dispose();
    if (error instanceof RunFailure) throw error;
    throw new RunFailure(FailureReason.PROVIDER_ERROR, `an ability was not bound: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** Throws a {@link RunFailure} where a name is there twice. */
export function uniqueNames(what: string, names: readonly string[]): void {
  const doubled = names.find((name, index) => names.indexOf(name) !== index);
  if (doubled !== undefined) {
    throw new RunFailure(
      FailureReason.PROVIDER_ERROR,
      `two of this run's ${what} names are ${JSON.stringify(doubled)}`,
    );
  }
}

function collect(bindings: readonly AbilityBinding[]): Omit<BoundAbilities, "dispose"> {
  return {
    tools: bindings.flatMap(({ tools }) => tools ?? []),
    prompts: bindings.flatMap(({ prompts }) => prompts ?? []),
    contextSources: bindings.flatMap(({ contextSources }) => contextSources ?? []),
    middleware: bindings.flatMap(({ middleware }) => middleware ?? []),
  };
}

async function disposeAll(
  bound: { readonly name: string; readonly binding: AbilityBinding }[],
  within: Within,
): Promise<readonly string[]> {
  const diagnostics: string[] = [];
  for (const { name, binding } of bound.splice(0).reverse()) {
    try {
      await within(binding.dispose?.());
    } catch (error) {
      diagnostics.push(`the ability ${JSON.stringify(name)} was not disposed: ${messageOf(error)}`);
    }
  }
  return diagnostics;
}
