import type { JsonObject } from "@bufbuild/protobuf";
import type { Script } from "./script.js";

/** Something to try: what a form for the start of an execution proposes. */
interface ScriptExample {
  readonly title: string;
  readonly input: string;
  readonly config: Script;
}

const PACE_MS = 45;

/** A word every {@link PACE_MS}. */
const said = (text: string) => ({ text: { text, pace_ms: PACE_MS } });

const EXAMPLES: readonly ScriptExample[] = [
  {
    title: "Approve and steer",
    input: "Tidy up the workspace",
    config: {
      steps: [
        { reasoning: "Old logs take the most room. Deleting them needs somebody's word." },
        said("I look at what is there first.\n"),
        {
          tool_call: {
            name: "list_files",
            kind: "read",
            input: { path: ".", older_than_days: 30 },
            output: ["logs/2026-01.log", "logs/2026-02.log", "logs/2026-03.log"],
          },
        },
        said("Three logs are older than a month.\n"),
        {
          approval: {
            title: "Delete 3 old logs?",
            description: "They have not been opened for more than 30 days.",
            payload: { command: "rm logs/2026-01.log logs/2026-02.log logs/2026-03.log", frees: "412 MiB" },
            if_denied: "continue",
          },
        },
        { tool_call: { name: "run", kind: "execute", input: { command: "rm logs/2026-0*.log" }, output: "" } },
        said("Done. Steer me: what shall I call the report?\n\n"),
        { await_steer: true },
        said("\n\nThe report is written."),
        { artifact: { name: "report.md", media_type: "text/markdown", uri: "file:///workspace/report.md" } },
        { usage: { prompt_tokens: 1_240, completion_tokens: 318, total_tokens: 1_558 } },
      ],
    },
  },
  {
    title: "Ask for a value",
    input: "Book a table",
    config: {
      steps: [
        said("I need to know a little more.\n"),
        {
          input: {
            title: "For when, and for how many?",
            schema: {
              type: "object",
              properties: {
                day: { type: "string", title: "Day", enum: ["today", "tomorrow"] },
                guests: { type: "integer", title: "Guests", minimum: 1, maximum: 12 },
                note: { type: "string", title: "Note", maxLength: 200 },
              },
              required: ["day", "guests"],
            },
          },
        },
        said("\nBooked."),
      ],
    },
  },
  {
    title: "Run for a minute",
    input: "Count slowly",
    config: {
      steps: Array.from({ length: 60 }, (_, second) => [{ text: `${second + 1} ` }, { sleep_ms: 1_000 }]).flat(),
    },
  },
  { title: "Echo", input: "Say this back, word by word", config: {} },
];

/** The examples as a manifest's metadata has them. */
export const SCRIPT_EXAMPLES: JsonObject[] = EXAMPLES.map(
  (example) => JSON.parse(JSON.stringify(example)) as JsonObject,
);
