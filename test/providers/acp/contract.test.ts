import { listCarrying, startedMarks } from "../../../src/providers/containment/started.js";
import { testProviderContract } from "../contract.js";
import { type AgentFixtureOptions, closeFixtures, openAgent } from "./fixture.js";

const script = (...steps: readonly unknown[]) => ({ input: JSON.stringify(steps) });
const options = [
  { optionId: "yes", name: "Yes", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];
const ask = { ask: { toolCall: { toolCallId: "t1", title: "go" }, options } };
const schema = { type: "object", properties: { name: { type: "string" } } };

const situations = {
  text: script({ text: "a few " }, { text: "words" }),
  long: script({ slow: { words: 10_000, ms: 20 } }),
  approval: script({ text: "first " }, ask),
  input: script({ elicit: { mode: "form", message: "Who?", requestedSchema: schema } }),
  inputValue: { name: "Ada" },
  memory: { tell: script({ text: "swordfish" }), ask: script({ recall: true }), answer: "swordfish" },
};

function open(settings: AgentFixtureOptions) {
  return async () => {
    const { runtime, alive } = await openAgent({ ...settings, noisy: true });
    const kill = async (): Promise<void> => {
      for (const pid of await alive()) {
        try {
          process.kill(Number(pid), "SIGKILL");
        } catch {
          // It ended with another one.
        }
      }
    };
    return {
      runtime,
      providerId: "test",
      situations,
      limitMs: 20_000,
      kill,
      processes: { marks: startedMarks, carrying: listCarrying },
      noisyProviderId: "noisy",
      close: closeFixtures,
    };
  };
}

const unsupported = ["artifact.list is UNSUPPORTED", "input.steer is UNSUPPORTED"];

testProviderContract("acp", open({}), unsupported);
testProviderContract("acp, without session/load and forms", open({ flags: ["--no-load"], elicitation: false }), [
  ...unsupported,
  "action.input is UNSUPPORTED",
]);
