import type { DescMessage, Message } from "@bufbuild/protobuf";
import { pathToString } from "@bufbuild/protobuf/reflect";
import { createValidator, type Violation } from "@bufbuild/protovalidate";
import type { FieldViolation } from "./errors.js";

/** Returns each rule of the contract that a message breaks. */
export type BrokenRules = (schema: DescMessage, message: Message) => readonly FieldViolation[];

/** Makes the check of messages by the contract's rules. The first check of each type compiles them, up to 100 ms. */
export function createRules(): BrokenRules {
  const validator = createValidator();
  return (schema, message) => {
    const result = validator.validate(schema, message);
    if (result.kind === "valid") return [];
    if (result.kind === "error") throw result.error;
    return result.violations.map((violation) => ({
      field: pathToString(violation.field),
      description: describe(violation),
    }));
  };
}

/** What the rule says, but for the empty text, and for values of enums: there it names numbers, and callers write names. */
function describe({ ruleId, field, message }: Violation): string {
  if (ruleId === "string.min_len" && message === "must be at least 1 characters") return "must not be empty";
  const last = field.findLast((part) => part.kind === "field");
  if (!ruleId.startsWith("enum.") || last?.enum === undefined) return message;
  const names = last.enum.values.filter(({ number }) => number !== 0).map(({ name }) => name);
  return `must be one of ${names.join(", ")}`;
}
