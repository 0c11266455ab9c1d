import type { RunContext } from "./run-context.js";

/** What a tool does to the world; decides what plan mode does with it. */
export type ToolEffect = "read" | "write" | "execute" | "external";

/**
 * The shape of a tool's arguments: a JSON Schema, or any schema library's object
 * that follows Standard Schema (https://standardschema.dev) and can give its JSON Schema.
 */
export type ToolParameters = Readonly<Record<string, unknown>> | StandardSchema;

/** The part of Standard Schema that the engine uses. */
export interface StandardSchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult | Promise<StandardResult>;
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => Record<string, unknown> };
  };
}

/** What a Standard Schema says of a value. */
export type StandardResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

/** A tool: what a model is told of it, and what it does. */
export interface ToolDef {
  /** The id that grants name: 1 to 128 letters, digits, `_`, `-` and `.`, unique in a run. */
  readonly name: string;
  /** For the model. */
  readonly description: string;
  readonly parameters: ToolParameters;
  /**
   * Does the work. The arguments fit the schema and are a copy of what was
   * reviewed. Throwing makes a result with an `error`. `ctx.signal` ends it early.
   */
  execute(args: Record<string, unknown>, ctx: RunContext): Promise<unknown> | unknown;
  /** Unset is unknown: plan mode asks first. */
  readonly effect?: ToolEffect;
  /** Whether somebody must approve a call before it is made. Default false. */
  readonly requiresApproval?: boolean | ((args: Record<string, unknown>) => boolean);
}

/** What a model is told of a tool. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Why a call was not made. */
export type ToolDenial = "policy" | "approval_required" | "approval_denied" | "cancelled";

/** How a call ended: `result`, `error` or `denial` with the reason in `error`. */
export interface ToolCallResult {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly result?: unknown;
  /** Why it failed or was denied. */
  readonly error?: string;
  readonly denial?: ToolDenial;
}

/** Returns whether `parameters` is a Standard Schema rather than a JSON Schema. */
export function isStandardSchema(parameters: ToolParameters): parameters is StandardSchema {
  return "~standard" in parameters && typeof parameters["~standard"] === "object";
}
