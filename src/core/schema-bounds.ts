import type { JsonObject } from "@bufbuild/protobuf";
import { MAX_JSON_DEPTH } from "./check-json.js";

const MAX_SCHEMA_BYTES = 64 * 1024;
const MAX_SUBSCHEMAS = 1000;
/** A subschema is two levels of JSON below the one that holds it. */
const MAX_NESTING = 2 * MAX_JSON_DEPTH;
const MAX_VISITS = 10_000;

const IN_PLACE = ["not", "if", "then", "else", "allOf", "anyOf", "oneOf"];
const IN_PLACE_MAPS = ["dependentSchemas", "dependencies"];
const BELOW_ANY = [
  "additionalItems",
  "additionalProperties",
  "contains",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
];

type Keywords = Readonly<Record<string, unknown>>;
type Counts = Map<object, number>;

/** What a schema applies next: to the same value, to the member of a name, and to any member. */
interface Next {
  readonly here: readonly object[];
  readonly named: ReadonlyMap<string, readonly object[]>;
  readonly any: readonly object[];
}

/**
 * Returns how many times a schema may look at one part of a value, at most;
 * throws an Error where that is more than 10,000 times, and where the schema is
 * larger than 64 KiB, 1,000 subschemas or 32 of them inside one another. `$ref`
 * leads only to the schema's own parts.
 */
export function boundSchema(schema: JsonObject): number {
  checkNesting(schema, 0);
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_SCHEMA_BYTES) {
    throw new Error(`a schema is at most ${MAX_SCHEMA_BYTES} bytes of JSON`);
  }
  const visits = new Bounds(schema).most();
  if (visits <= MAX_VISITS) return visits;
  throw new Error(`the schema may check one value more than ${MAX_VISITS} times; use fewer $ref to the same parts`);
}

function checkNesting(value: unknown, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depth > MAX_NESTING) throw new Error(`a schema has at most ${MAX_JSON_DEPTH} subschemas inside one another`);
  for (const item of Object.values(value)) checkNesting(item, depth + 1);
}

class Bounds {
  readonly #root: JsonObject;
  readonly #next = new Map<object, Next>();
  readonly #closures = new Map<object, Counts>();
  readonly #visits = new Map<object, number[]>();

  constructor(root: JsonObject) {
    this.#root = root;
  }

  most(): number {
    let most = 0;
    for (let depth = 0; depth <= MAX_JSON_DEPTH; depth++) most = Math.max(most, this.#visitsAt(this.#root, depth));
    return most;
  }

  /** The visits of any one value `depth` levels below the value that the schema applies to. */
  #visitsAt(schema: object, depth: number): number {
    const known = this.#visits.get(schema)?.[depth];
    if (known !== undefined) return known;
    const closure = this.#closure(schema);
    const visits = depth === 0 ? sum(closure.values()) : this.#visitsBelow(closure, depth - 1);
    const row = this.#visits.get(schema) ?? [];
    row[depth] = visits;
    this.#visits.set(schema, row);
    return visits;
  }

  #visitsBelow(closure: Counts, depth: number): number {
    let any = 0;
    const named = new Map<string, number>();
    for (const [schema, count] of closure) {
      const next = this.#nextOf(schema);
      for (const below of next.any) any += count * this.#visitsAt(below, depth);
      for (const [name, schemas] of next.named) {
        const visits = sum(schemas.map((below) => count * this.#visitsAt(below, depth)));
        named.set(name, (named.get(name) ?? 0) + visits);
      }
    }
    return any + Math.max(0, ...named.values());
  }

  /** Every schema that applies to the same value, with how many times it does. */
  #closure(schema: object, path = new Set<object>()): Counts {
    const known = this.#closures.get(schema);
    if (known !== undefined) return known;
    if (path.has(schema)) throw new Error("a $ref leads back to itself for the same value");
    path.add(schema);
    const counts: Counts = new Map([[schema, 1]]);
    for (const here of this.#nextOf(schema).here) {
      for (const [inner, count] of this.#closure(here, path)) counts.set(inner, (counts.get(inner) ?? 0) + count);
    }
    path.delete(schema);
    this.#closures.set(schema, counts);
    return counts;
  }

  #nextOf(schema: object): Next {
    const known = this.#next.get(schema);
    if (known !== undefined) return known;
    if (this.#next.size >= MAX_SUBSCHEMAS) throw new Error(`a schema has at most ${MAX_SUBSCHEMAS} subschemas`);
    const of = schema as Keywords;
    if (schema !== this.#root && "$id" in of) throw new Error("only the outermost schema may have an $id");
    const here = [...IN_PLACE.flatMap((name) => schemas(of[name])), ...this.#referred(of)];
    here.push(...IN_PLACE_MAPS.flatMap((name) => members(of[name])).flatMap(([, inner]) => schemas(inner)));
    const next = { here, named: namedOf(of), any: anyOf(of) };
    this.#next.set(schema, next);
    return next;
  }

  #referred(schema: Keywords): object[] {
    for (const name of ["$dynamicRef", "$recursiveRef"]) {
      if (name in schema) throw new Error(`${name} is not supported; use $ref`);
    }
    const ref = schema["$ref"];
    if (typeof ref !== "string") return [];
    if (!/^#(\/|$)/.test(ref))
      throw new Error(`$ref ${JSON.stringify(ref)} does not lead to a part of the schema, as #/…`);
    let target: unknown = this.#root;
    for (const step of ref.split("/").slice(1)) {
      const name = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
      const holder: unknown = target;
      target = isObject(holder) && Object.hasOwn(holder, name) ? Reflect.get(holder, name) : undefined;
    }
    if (target === undefined) throw new Error(`$ref ${JSON.stringify(ref)} leads to nothing`);
    return schemas(target);
  }
}

function namedOf({ properties, items, prefixItems }: Keywords): ReadonlyMap<string, readonly object[]> {
  const lists = [items, prefixItems].filter(Array.isArray).flatMap((list) => [...list.entries()]);
  return new Map([
    ...members(properties).map(([name, inner]) => [`.${name}`, schemas(inner)] as const),
    ...lists.map(([index, inner]) => [`[${index}]`, schemas(inner)] as const),
  ]);
}

function anyOf(keywords: Keywords): readonly object[] {
  const { items, patternProperties } = keywords;
  return [
    ...BELOW_ANY.flatMap((name) => schemas(keywords[name])),
    ...members(patternProperties).flatMap(([, inner]) => schemas(inner)),
    ...(Array.isArray(items) ? [] : schemas(items)),
  ];
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** The schemas of a keyword's value: one, or a list; true and false look at nothing. */
function schemas(value: unknown): object[] {
  return Array.isArray(value) ? value.filter(isObject) : isObject(value) ? [value] : [];
}

function members(value: unknown): readonly [string, unknown][] {
  return isObject(value) ? Object.entries(value) : [];
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
