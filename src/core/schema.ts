import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type FieldViolation, HarnessError } from "./errors.js";
import { valueToJson } from "./value-text.js";

const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false });
/** Compiled schemas by the object that holds them: a manifest's is compiled once. */
const compiled = new WeakMap<JsonObject, ValidateFunction>();

/**
 * Checks a value against a JSON Schema (draft 2020-12; formats are annotations).
 * Fails with VALIDATION_ERROR, one violation an error, paths below `field`.
 */
export function checkSchema(schema: JsonObject, value: Value | JsonValue, field: string): void {
  const validate = compile(schema);
  if (validate(isValue(value) ? valueToJson(value) : value)) return;
  const violations = (validate.errors ?? []).map((error) => toViolation(error, field));
  throw new HarnessError(
    ErrorReason.VALIDATION_ERROR,
    violations.map((violation) => `${violation.field}: ${violation.description}`).join("; "),
    { field },
    { violations },
  );
}

/** Compiles a JSON Schema; throws an Error that says what is wrong with it. */
export function compile(schema: JsonObject): ValidateFunction {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const { $id: _, ...anonymous } = schema;
  const validate = ajv.compile(anonymous);
  compiled.set(schema, validate);
  return validate;
}

function isValue(value: Value | JsonValue): value is Value {
  return typeof value === "object" && value !== null && "$typeName" in value;
}

function toViolation({ instancePath, message, params, keyword }: ErrorObject, field: string): FieldViolation {
  const path = instancePath.replaceAll(/\/(\d+)/g, "[$1]").replaceAll("/", ".");
  const extra = keyword === "additionalProperties" ? `: ${JSON.stringify(params["additionalProperty"])}` : "";
  const allowed = keyword === "enum" ? `: ${JSON.stringify(params["allowedValues"])}` : "";
  return { field: `${field}${path}`, description: `${message ?? "does not fit its schema"}${extra}${allowed}` };
}
