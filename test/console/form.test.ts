import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { hasForm, parseField } from "../../src/console/forms/field.js";
import { findFlaws, initialValue, withProperty } from "../../src/console/forms/value.js";
import { SCRIPT_EXAMPLES } from "../../src/providers/scripted/examples.js";
import { SCRIPT_SCHEMA } from "../../src/providers/scripted/script.js";
import { scriptedProvider } from "../../src/providers/scripted/scripted.js";

describe("a schema", () => {
  test.each<[string, JsonValue | undefined, string]>([
    ["a string", { type: "string" }, "text"],
    ["a number", { type: "number" }, "number"],
    ["a whole number", { type: "integer" }, "number"],
    ["a boolean", { type: "boolean" }, "boolean"],
    ["a constant", { const: 4 }, "constant"],
    ["an enum", { enum: ["a", 1] }, "choice"],
    ["one of several constants", { oneOf: [{ const: "a", title: "A" }, { const: "b" }] }, "choice"],
    ["an object", { type: "object", properties: { a: { type: "string" } } }, "object"],
    ["an object without saying so", { properties: { a: {} } }, "object"],
    [
      "an object of one property",
      { type: "object", properties: { a: {} }, minProperties: 1, maxProperties: 1 },
      "one of",
    ],
    ["a list", { type: "array", items: { type: "string" } }, "array"],
    ["one of several types", { type: ["null", "string"] }, "text"],
    ["an object of any properties", { type: "object" }, "json"],
    ["one of several objects", { oneOf: [{ type: "object" }, { type: "string" }] }, "json"],
    ["anything", {}, "json"],
    ["nothing at all", undefined, "json"],
    ["a reference", { $ref: "#/$defs/a", $defs: { a: { type: "boolean" } } }, "boolean"],
    ["a reference to nowhere", { $ref: "#/$defs/a" }, "json"],
    ["true", true, "json"],
  ])("of %s is shown as %3$s", (_, schema, kind) => {
    expect(parseField(schema).kind).toBe(kind);
  });

  test("that refers to itself has a form that ends", () => {
    const tree: JsonObject = {
      $ref: "#/$defs/node",
      $defs: { node: { type: "object", properties: { child: { $ref: "#/$defs/node" } } } },
    };
    expect(JSON.stringify(parseField(tree)).length).toBeLessThan(5_000);
  });

  test("with nothing to name needs no form", () => {
    expect(hasForm(parseField({ type: "object" }))).toBe(false);
    expect(hasForm(parseField({ type: "string" }))).toBe(true);
  });
});

describe("a value", () => {
  const schema: JsonObject = {
    type: "object",
    required: ["name", "tags"],
    properties: {
      name: { type: "string", minLength: 2, pattern: "^[a-z]+$" },
      size: { type: "integer", minimum: 1, maximum: 9, default: 3 },
      tags: { type: "array", items: { type: "string", minLength: 1 }, minItems: 1 },
    },
  };
  const field = parseField(schema);

  test("begins with the defaults, and with what must be there", () => {
    expect(initialValue(field)).toEqual({ size: 3, tags: [""] });
  });

  test.each<[JsonValue, readonly string[]]>([
    [{ name: "ab", tags: ["x"] }, []],
    [{ tags: ["x"] }, ["name"]],
    [{ name: "a", tags: ["x"] }, ["name", "name"]],
    [{ name: "AB", tags: [""] }, ["name", "tags[0]"]],
    [{ name: "ab", size: 10, tags: [] }, ["size"]],
    [{ name: "ab", size: 1.5, tags: [] }, ["size"]],
    [{ name: "ab", size: "3", tags: {} }, ["size", "tags"]],
    [[], [""]],
  ])("%j has flaws at %j", (value, paths) => {
    expect(findFlaws(field, value).map(({ path }) => path)).toEqual(expect.arrayContaining([...new Set(paths)]));
    expect(findFlaws(field, value).length > 0).toBe(paths.length > 0);
  });

  test("loses a property that is emptied, and keeps the order of the others", () => {
    const value = withProperty(withProperty({ a: 1, b: 2 }, "a", 3), "c", 4);
    expect(JSON.stringify(value)).toBe('{"a":3,"b":2,"c":4}');
    expect(withProperty(value, "b", undefined)).toEqual({ a: 3, c: 4 });
    expect(withProperty(undefined, "a", 1)).toEqual({ a: 1 });
  });
});

describe("the scripted provider", () => {
  test("has examples that its own form finds nothing wrong with", () => {
    const field = parseField(SCRIPT_SCHEMA);
    expect(scriptedProvider().manifest.metadata?.["examples"]).toEqual(SCRIPT_EXAMPLES);
    for (const example of SCRIPT_EXAMPLES) expect(findFlaws(field, example["config"])).toEqual([]);
  });

  test("has a configuration whose every step can be built in the form", () => {
    const field = parseField(SCRIPT_SCHEMA);
    if (field.kind !== "object") throw new Error(field.kind);
    const steps = field.properties.find(({ name }) => name === "steps")?.field;
    if (steps?.kind !== "array" || steps.item.kind !== "one of") throw new Error("steps are no list of choices");
    expect(steps.item.properties.map(({ name }) => name)).toContain("await_steer");
  });
});
