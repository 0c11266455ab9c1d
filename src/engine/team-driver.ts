import type { ExecutionDriver, HarnessRunRequest, TeamMember } from "./driver.js";
import type { MessageContent } from "./message.js";
import type { HarnessChildResult, HarnessDriverOutput } from "./result.js";
import type { HarnessExecutionServices } from "./services.js";

/** What a team's own code works with. */
export interface Team {
  /**
   * Runs a member as a child execution in a conversation of its own. Never rejects
   * for how the child went. The child is cancelled with its parent.
   */
  ask(member: string, input: MessageContent): Promise<HarnessChildResult>;
  readonly services: HarnessExecutionServices;
}

export interface TeamDriverOptions {
  readonly id: string;
  /** Default 1. */
  readonly version?: number;
  /** By name: 1 or more letters, digits, `_` and `-`. */
  readonly members: Readonly<Record<string, TeamMember>>;
  /** The team's plan: who is asked what, in which order. A text alone completes the turn. */
  readonly run: (team: Team, request: HarnessRunRequest) => Promise<HarnessDriverOutput | string>;
}

/**
 * Makes a driver of several others: each that it asks runs as an execution of its
 * own, with this run as its parent, seen and answered like any other.
 */
export function teamDriver({ id, version = 1, members, run }: TeamDriverOptions): ExecutionDriver {
  for (const name of Object.keys(members)) {
    if (!/^[A-Za-z0-9_-]+$/.test(name))
      throw new TypeError(`${JSON.stringify(name)} is no name for a member of a team`);
  }
  return {
    id,
    version,
    capabilities: {
      controls: ["follow_up", "replace"],
      durable: false,
      policyCoverage: "local",
      controlledExecution: true,
    },
    interruptible: true,
    members,
    start: async (request, services) => {
      const { startChild } = services;
      if (startChild === undefined) throw new TypeError(`the team ${id} was given no way to start its members`);
      const output = await run({ ask: (member, input) => startChild(member, input), services }, request);
      return typeof output === "string" ? { text: output } : output;
    },
  };
}
