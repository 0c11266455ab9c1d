import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { checkSchema } from "../../core/schema.js";
import { messageOf } from "../errors.js";
import type { HarnessDriverOutput } from "../result.js";

/** What the model is told of the form of its final answer. */
export function outputInstructions(schema: Readonly<Record<string, unknown>>): string {
  return `Your final answer must be one JSON value, with nothing before or after it, that fits this JSON Schema:\n${JSON.stringify(schema)}`;
}

/** Reads a final answer; where it does not fit, `problem` is what to tell the model. */
export function checkAnswer(
  text: string,
  schema: Readonly<Record<string, unknown>>,
): { readonly output: HarnessDriverOutput; readonly problem?: string } {
  try {
    const structured = JSON.parse(withoutFence(text)) as JsonValue;
    checkSchema(schema as JsonObject, structured, "answer");
    return { output: { text, structured } };
  } catch (error) {
    const why = messageOf(error);
    const reason = { code: "execution_failed", message: `the answer does not fit the output schema: ${why}` };
    return {
      output: { status: "failed", text, reason },
      problem: `Your answer does not fit: ${why}. Answer again, with the JSON value alone.`,
    };
  }
}

/** Models like to put JSON between fences whatever they are told. */
function withoutFence(text: string): string {
  const fenced = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text);
  return fenced?.[1] ?? text;
}
