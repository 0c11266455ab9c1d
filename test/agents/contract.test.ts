import { describe } from "vitest";
import { killStarted, listCarrying, startedMarks } from "../../src/providers/containment/started.js";
import { testProviderContract } from "../providers/contract.js";
import { type AgentName, isInstalled, NOISY, openRealAgent } from "./real-agent.js";

/** The slower agents take many minutes: they are for the soak. */
const AGENTS: readonly AgentName[] = process.env["SOAK"] === "1" ? ["codex", "gemini", "opencode"] : ["codex"];

const script = (...turns: readonly string[]) => ({ input: turns.map((turn) => `@model ${turn}`).join("\n") });
const situations = {
  text: script("text a few words"),
  long: script("slow 50 5000"),
  approval: script("shell touch approved.txt", "text done"),
};

const processes = { marks: startedMarks, carrying: listCarrying };

describe.each(AGENTS.filter(isInstalled))("%s", (name) => {
  testProviderContract(
    name,
    async () => {
      const { runtime, close } = await openRealAgent(name);
      return {
        runtime,
        close,
        providerId: name,
        situations,
        limitMs: 90_000,
        kill: killStarted,
        processes,
        noisyProviderId: NOISY,
      };
    },
    [
      ...["artifact.list is UNSUPPORTED", "input.steer is UNSUPPORTED", "action.input is UNSUPPORTED"],
      "no situation for memory",
    ],
    300_000,
  );
});
