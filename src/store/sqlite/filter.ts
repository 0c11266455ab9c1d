import type { Position } from "../page.js";

type Value = string | number;

/** The conditions of a list's query: what is unset or empty adds none. */
export class Filter {
  readonly #conditions: string[] = [];
  readonly #values: Value[] = [];

  /** The conditions as SQL. */
  get sql(): string {
    return this.#conditions.join(" AND ");
  }

  /** What the question marks in {@link sql} stand for. */
  get values(): readonly Value[] {
    return this.#values;
  }

  add(condition: string, ...values: readonly Value[]): this {
    this.#conditions.push(condition);
    this.#values.push(...values);
    return this;
  }

  equal(column: string, value: string | undefined): this {
    return isSet(value) ? this.add(`${column} = ?`, value) : this;
  }

  oneOf(column: string, values: readonly number[] = []): this {
    if (values.length === 0) return this;
    const marks = values.map(() => "?").join(", ");
    return this.add(values.length === 1 ? `${column} = ?` : `${column} IN (${marks})`, ...values);
  }

  /** Each of `labels`, by the condition `has` on a name and a value. */
  labels(has: string, labels: readonly (readonly [string, string])[]): this {
    for (const [name, value] of labels) this.add(has, name, value);
    return this;
  }

  /** What a list has after `position`, newest first. */
  olderThan(position: Position | undefined, timeColumn: string, idColumn: string): this {
    if (position === undefined) return this;
    return this.add(`(${timeColumn}, ${idColumn}) < (?, ?)`, position.order, position.id);
  }
}

/** Whether a filter by a string filters. */
export function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}
