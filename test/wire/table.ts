import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { parse } from "yaml";
import { check } from "./expectations.js";
import { fill, mustFind } from "./like.js";
import type { Ask, Question } from "./question.js";

/** One case of `cases/*.yaml`; README.md beside them says what each key means. */
export interface Case {
  readonly name: string;
  readonly calls: readonly Call[];
  /** Only for clients that have bidirectional streams, or only for those that have none. */
  readonly bidi?: boolean;
}

/** One call of a case. */
export interface Call {
  readonly call: string;
  readonly as?: string;
  readonly request?: JsonObject;
  readonly requests?: readonly JsonObject[];
  readonly until?: string;
  readonly parallel?: number;
  readonly response?: JsonObject;
  readonly error?: Refusal;
  readonly accepted?: number;
  readonly events?: readonly (string | JsonObject)[];
  readonly first?: JsonObject;
  readonly last?: JsonObject;
  readonly frames?: readonly JsonObject[];
  readonly max_bytes?: number;
  readonly save?: Readonly<Record<string, string>>;
}

interface Refusal {
  readonly code: string;
  readonly reason?: string;
  readonly metadata?: JsonObject;
  readonly fields?: readonly string[];
}

/** The cases of every file, by file. */
export function readCases(): ReadonlyMap<string, readonly Case[]> {
  const folder = join(import.meta.dirname, "cases");
  const names = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
  return new Map(names.map((name) => [name, parse(readFileSync(join(folder, name), "utf8"))]));
}

/** A client of some language over some protocol, and the tokens of the users that cases speak of. */
export interface Player {
  readonly ask: Ask;
  readonly url: string;
  readonly protocol: string;
  readonly tokens: Readonly<Record<string, string>>;
}

/** Makes the calls of a case in order, and expects of each what the case says. */
export async function playCase({ calls }: Case, player: Player): Promise<void> {
  const saved: JsonObject = {};
  for (const call of calls) {
    const outcomes = await player.ask(toQuestion(call, player, saved));
    if (call.accepted !== undefined)
      expect(outcomes.filter(({ error }) => error === undefined)).toHaveLength(call.accepted);
    for (const outcome of outcomes) check(call, outcome, saved);
    for (const [name, path] of Object.entries(call.save ?? {})) saved[name] = mustFind(outcomes, path);
  }
}

function toQuestion(call: Call, { url, protocol, tokens }: Player, saved: JsonObject): Question {
  const [service = "", method = ""] = call.call.split(".");
  const requests = (call.requests ?? [call.request ?? {}]).map((request) => fill(request, saved) as JsonObject);
  const token = tokens[call.as ?? "ann"];
  if (token === undefined) throw new Error(`${call.call}: no user ${call.as}`);
  const optional = { ...(call.until && { until: call.until }), ...(call.parallel && { parallel: call.parallel }) };
  return { url, protocol, token, service, method, requests, ...optional };
}
