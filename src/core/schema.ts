import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { Ajv, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { RE2JS } from "re2js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { MAX_JSON_DEPTH } from "./check-json.js";
import { HarnessError, invalid } from "./errors.js";
import { boundSchema } from "./schema-bounds.js";
import { toViolation } from "./schema-violation.js";
import { valueToJson } from "./value-text.js";

const LAX: Options = { strict: false, validateFormats: false };
const OPTIONS: Options = {
  ...LAX,
  allErrors: true,
  verbose: true,
  inlineRefs: false,
  meta: false,
  validateSchema: false,
};

/** Parts of a value times how often the schema may look at one: what one check may cost. */
const MAX_CHECKS = 2_000_000;
const MAX_PATTERN_LENGTH = 1000;
/** How many faults of one value are told. */
const MOST_VIOLATIONS = 50;
/** States of all patterns of one schema: what compiling them may cost. */
const MAX_PATTERN_STATES = 5000;
/** Characters of a value times states times visits: what matching patterns may cost. */
const MAX_PATTERN_STEPS = 500_000_000;

const drafts = [
  { Ajv: Ajv2020, uri: /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/, meta: metaOf(() => new Ajv2020(LAX)) },
  { Ajv: Ajv2019, uri: /^https:\/\/json-schema\.org\/draft\/2019-09\/schema#?$/, meta: metaOf(() => new Ajv2019(LAX)) },
  { Ajv, uri: /^https?:\/\/json-schema\.org\/draft-0[67]\/schema#?$/, meta: metaOf(() => new Ajv(LAX)) },
];

interface Compiled {
  readonly validate: ValidateFunction;
  /** How many times it may look at one part of a value. */
  readonly visits: number;
  /** The states of all its patterns. */
  readonly states: number;
}

/** Compiled schemas by the object that holds them: a manifest's is compiled once. */
const compiled = new WeakMap<JsonObject, Compiled>();

/**
 * Checks a value against a JSON Schema (formats are annotations). Fails with
 * VALIDATION_ERROR, one violation an error (of the first 50), paths below `field`; a value that is
 * nested deeper than 32 levels, or too large for its schema, is refused too.
 */
export function checkSchema(schema: JsonObject, value: Value | JsonValue, field: string): void {
  const { validate, visits, states } = compileOnce(schema);
  const json = isValue(value) ? valueToJson(value) : value;
  const { parts, characters } = sizeOf(json, field, 0);
  if (parts * visits > MAX_CHECKS || characters * states * visits > MAX_PATTERN_STEPS) {
    throw invalid(field, "it is too large for its schema; use a smaller value or a simpler schema");
  }
  if (validate(json)) return;
  const violations = (validate.errors ?? []).slice(0, MOST_VIOLATIONS).map((error) => toViolation(error, field));
  throw new HarnessError(
    ErrorReason.VALIDATION_ERROR,
    violations.map((violation) => `${violation.field}: ${violation.description}`).join("; "),
    { field },
    { violations },
  );
}

/**
 * Compiles a JSON Schema of draft 2020-12, or of the draft 2019-09, 07 or 06
 * that its `$schema` names; throws an Error that says what is wrong with it. Its
 * patterns are matched in time linear to the text, so what needs looking around
 * or back references is refused; its size is bounded as {@link boundSchema} says.
 */
export function compile(schema: JsonObject): ValidateFunction {
  return compileOnce(schema).validate;
}

function compileOnce(schema: JsonObject): Compiled {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const { $id: _, $schema: uri, ...anonymous } = schema;
  const draft = uri === undefined ? drafts[0] : drafts.find((each) => typeof uri === "string" && each.uri.test(uri));
  if (draft === undefined)
    throw new Error(`$schema ${JSON.stringify(uri)} is unknown; use draft 2020-12, 2019-09 or 07`);
  const visits = boundSchema(anonymous);
  void draft.meta().validateSchema(anonymous, true);
  const patterns = new Patterns();
  // An instance keeps all it ever compiled, so each schema has its own.
  const ajv = new draft.Ajv({ ...OPTIONS, code: { regExp: patterns.engine } });
  const validate = ajv.compile(anonymous);
  const done = { validate, visits, states: patterns.states };
  compiled.set(schema, done);
  return done;
}

interface Size {
  /** Its values and the names of its members. */
  parts: number;
  /** The characters of its strings and names. */
  characters: number;
}

function sizeOf(value: JsonValue | undefined, field: string, depth: number): Size {
  if (typeof value !== "object" || value === null) {
    return { parts: 1, characters: typeof value === "string" ? value.length : 0 };
  }
  if (depth === MAX_JSON_DEPTH) throw invalid(field, `at most ${MAX_JSON_DEPTH} objects and lists inside one another`);
  const size = { parts: 1, characters: 0 };
  for (const [name, item] of Object.entries(value)) {
    const inner = sizeOf(item, field, depth + 1);
    size.parts += 1 + inner.parts;
    size.characters += name.length + inner.characters;
  }
  return size;
}

function isValue(value: Value | JsonValue): value is Value {
  return typeof value === "object" && value !== null && "$typeName" in value;
}

/** Returns what checks schemas themselves, made once. */
function metaOf(make: () => Ajv): () => Ajv {
  let made: Ajv | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Makes the regular expressions of one schema, which take time linear to the text. */
class Patterns {
  states = 0;
  readonly engine = Object.assign((pattern: string) => this.#make(pattern), { code: "" });

  #make(pattern: string): RE2JS {
    if (pattern.length > MAX_PATTERN_LENGTH) throw new Error(`a pattern has at most ${MAX_PATTERN_LENGTH} characters`);
    let expression: RE2JS;
    try {
      expression = RE2JS.compile(RE2JS.translateRegExp(pattern));
    } catch (error) {
      throw new Error(`pattern ${JSON.stringify(pattern)}: ${error instanceof Error ? error.message : error}`);
    }
    this.states += expression.programSize();
    if (this.states > MAX_PATTERN_STATES) throw new Error("the patterns of the schema are too large together");
    return expression;
  }
}
