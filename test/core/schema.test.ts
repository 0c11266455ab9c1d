import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { checkSchema, compile } from "../../src/core/schema.js";

const refused = expect.objectContaining({ reason: ErrorReason.VALIDATION_ERROR });

describe("JSON Schemas", () => {
  test("a pattern takes time linear to the text, and one that cannot is refused", () => {
    const schema = { type: "string", pattern: "^(a+)+$" };
    const start = process.cpuUsage();
    expect(() => checkSchema(schema, `${"a".repeat(60_000)}!`, "value")).toThrow(refused);
    const { user, system } = process.cpuUsage(start);
    expect(user + system, "microseconds of CPU").toBeLessThan(2_000_000);
    checkSchema(schema, "aaa", "value");
    checkSchema({ pattern: "^\\u00e9\\d{2}$" }, "é12", "value");
    expect(() => compile({ pattern: "^(?=a)" })).toThrow(/pattern .*unsupported/);
    expect(() => compile({ patternProperties: { "(a)\\1": true } })).toThrow(/pattern/);
    const large = Array.from({ length: 200 }, (_, index) => ({ pattern: `^((a?){30}){30}${index}$` }));
    expect(() => compile({ allOf: large })).toThrow(/too large together/);
  });

  test("references that fan out are refused, at one value and down a recursion", () => {
    const $defs: Record<string, JsonObject> = { d40: { type: "string" } };
    for (let index = 0; index < 40; index++) {
      const $ref = `#/$defs/d${index + 1}`;
      $defs[`d${index}`] = { allOf: [{ $ref }, { $ref }] };
    }
    expect(() => compile({ $ref: "#/$defs/d0", $defs })).toThrow(/more than 10000 times/);
    const again = { properties: { a: { $ref: "#" } } };
    expect(() => compile({ allOf: [again, again] })).toThrow(/leads back|more than 10000/);
    expect(() => compile({ allOf: [structuredClone(again), structuredClone(again)] })).toThrow(/more than 10000/);
    expect(() => compile({ $ref: "#" })).toThrow(/leads back/);
  });

  const step = { type: "object", properties: { text: { type: "string", minLength: 1 }, "a/b": { const: true } } };
  const one = { ...step, additionalProperties: false, minProperties: 1, maxProperties: 1 };
  const kinds = { type: "object", properties: { kind: { enum: ["x", 1] } }, required: ["kind"] };
  const named = { patternProperties: { "^x-": { type: ["string", "integer"] } }, additionalProperties: false };
  test.each<[JsonObject, JsonValue, string, string]>([
    [one, { txt: "hi" }, "config", 'the key "txt" is not known; there are text, a/b'],
    [one, {}, "config", "must have at least 1 key; there are text, a/b"],
    [one, { text: "a", "a/b": true }, "config", "must have at most 1 key; it has text, a/b"],
    [one, { text: "" }, "config.text", "must not be empty"],
    [{ minLength: 2 }, "a", "config", "must have at least 2 characters"],
    [one, { "a/b": 2 }, "config.a/b", "must be true"],
    [{ items: one }, [{ text: 1 }], "config[0].text", "must be a string"],
    [kinds, {}, "config", 'the key "kind" is missing'],
    [kinds, { kind: "y" }, "config.kind", 'must be one of "x", 1'],
    [named, { "x-a": 1.5 }, "config.x-a", "must be a string or a whole number"],
    [named, { y: 1 }, "config", 'the key "y" is not known; there are those that match ^x-'],
    [{ ...step, unevaluatedProperties: false }, { b: 1 }, "config", 'the key "b" is not known; there are text, a/b'],
    [{ minItems: 2 }, [1], "config", "must have at least 2 items"],
    [{ minimum: 3 }, 1, "config", "must be >= 3"],
  ])("of %j the value %j is refused with where and why, in plain words", (schema, value, field, description) => {
    expect(() => checkSchema(schema, value, "config")).toThrow(
      expect.objectContaining({ message: `${field}: ${description}`, violations: [{ field, description }] }),
    );
  });

  test("of a value that is wrong everywhere the first 50 faults are told", () => {
    expect(() => checkSchema({ items: { type: "string" } }, Array(1000).fill(0), "value")).toThrow(
      expect.objectContaining({ violations: expect.objectContaining({ length: 50 }) }),
    );
  });

  test("a recursive schema of a tree is taken", () => {
    const $ref = "#";
    const tree = { type: "object", required: ["id"], properties: { id: {}, left: { $ref }, right: { $ref } } };
    checkSchema(tree, { id: 1, left: { id: 2 }, right: { id: 3, left: { id: 4 } } }, "value");
    expect(() => checkSchema(tree, { id: 1, left: { id: 2, right: {} } }, "value")).toThrow(
      expect.objectContaining({ metadata: { field: "value" }, message: expect.stringContaining("value.left.right") }),
    );
  });

  test("large and deep schemas, and references to elsewhere, are refused", () => {
    expect(() => compile({ description: "x".repeat(70_000) })).toThrow(/bytes/);
    expect(() => compile({ anyOf: Array.from({ length: 1001 }, () => ({ type: "null" })) })).toThrow(/1000 subschemas/);
    let deep: JsonObject = {};
    for (let level = 0; level < 40; level++) deep = { properties: { a: deep } };
    expect(() => compile(deep)).toThrow(/inside one another/);
    expect(() => compile({ $ref: "http://localhost/schema.json" })).toThrow(/does not lead to a part/);
    expect(() => compile({ $ref: "#/$defs/none" })).toThrow(/leads to nothing/);
  });

  test("a value that is too large for its schema is refused", () => {
    const $defs: Record<string, JsonObject> = { d12: { type: "string" } };
    for (let index = 0; index < 12; index++) {
      const $ref = `#/$defs/d${index + 1}`;
      $defs[`d${index}`] = { allOf: [{ $ref }, { $ref }] };
    }
    const schema = { items: { $ref: "#/$defs/d1" }, $defs };
    checkSchema(schema, ["a"], "value");
    expect(() => checkSchema(schema, Array(16_000).fill(null), "value")).toThrow(/too large for its schema/);
  });

  test.each([
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
  ])("$schema %s is taken", ($schema) => {
    const schema = { $schema, type: "object", required: ["a"] };
    checkSchema(schema, { a: 1 }, "value");
    expect(() => checkSchema(schema, {}, "value")).toThrow(refused);
  });

  test("a draft-07 list of items is read as that draft reads it, and an unknown draft is refused", () => {
    const schema = { $schema: "http://json-schema.org/draft-07/schema#", items: [{ type: "string" }] };
    checkSchema(schema, ["a", 1], "value");
    expect(() => checkSchema(schema, [1], "value")).toThrow(refused);
    expect(() => compile({ $schema: "https://example.com/schema" })).toThrow(/unknown/);
  });
});
