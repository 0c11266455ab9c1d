import type { JsonObject } from "@bufbuild/protobuf";

/** What brings a provider into a situation that a check needs: an execution's input and config. */
export interface Situation {
  readonly input: string;
  readonly config?: JsonObject;
}

/**
 * How one provider is brought to do what the checks look at. Checks whose
 * situation is left out are skipped.
 */
export interface Situations {
  /** It says a few words and ends by itself. */
  readonly text: Situation;
  /** It says something at once and goes on for at least a minute, unless it is stopped. */
  readonly long: Situation;
  /** It asks for an approval, and ends well whatever the answer is. */
  readonly approval?: Situation;
  /** It asks for an input that `inputValue` fits, and ends well. */
  readonly input?: Situation;
  /** Default `"yes"`. */
  readonly inputValue?: JsonObject | string;
  /** It says something, and ends once it got a steer. */
  readonly steer?: Situation;
  /** It announces at least one artifact. */
  readonly artifact?: Situation;
  /** Told `tell` in one execution and asked `ask` in the next of the conversation, it answers with `answer` in its text. */
  readonly memory?: { readonly tell: Situation; readonly ask: Situation; readonly answer: string };
}

const situation: JsonObject = {
  type: "object",
  required: ["input"],
  additionalProperties: false,
  properties: { input: { type: "string" }, config: { type: "object" } },
};

/** Situations as they stand in a file: what is left out is as it is without the file. */
export const SITUATIONS_SCHEMA: JsonObject = {
  type: "object",
  additionalProperties: false,
  properties: {
    ...{
      text: situation,
      long: situation,
      approval: situation,
      input: situation,
      steer: situation,
      artifact: situation,
    },
    input_value: {},
    memory: {
      type: "object",
      required: ["tell", "ask", "answer"],
      additionalProperties: false,
      properties: { tell: situation, ask: situation, answer: { type: "string", minLength: 1 } },
    },
  },
};

/** In plain words, for a coding agent with a real model behind it. */
export const PLAIN_SITUATIONS: Situations = {
  text: { input: "Reply with the single word ready. Use no tools." },
  long: {
    input:
      "Without any tools, write out the numbers from 1 to 5000 in words, one a line, and do not stop before the end.",
  },
  approval: {
    input: "Run the shell command `touch conformance-check` now, with your shell tool, and then say that you are done.",
  },
  memory: {
    tell: { input: "Remember this word: swordfish. Reply with ok. Use no tools." },
    ask: { input: "Which word did I ask you to remember? Reply with the word alone. Use no tools." },
    answer: "swordfish",
  },
};

/** For the provider `scripted`. */
export const SCRIPTED_SITUATIONS: Situations = {
  text: { input: "a few words", config: { steps: [{ text: "a few " }, { text: "words" }] } },
  long: { input: "go on", config: { steps: [{ text: { text: "word ".repeat(10_000), pace_ms: 20 } }] } },
  approval: {
    input: "ask",
    config: { steps: [{ text: "first " }, { approval: { key: "k", if_denied: "continue" } }] },
  },
  input: { input: "ask", config: { steps: [{ input: { key: "k", schema: { type: "string" } } }] } },
  steer: { input: "wait", config: { steps: [{ text: "waiting " }, { await_steer: true }] } },
  artifact: {
    input: "make",
    config: { steps: [{ artifact: { id: "a", name: "a.txt", media_type: "text/plain", uri: "file:///a.txt" } }] },
  },
};
