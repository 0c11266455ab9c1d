import fc from "fast-check";
import { expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { isHarnessError } from "../../src/core/errors.js";
import { type ExecutionKey, IdempotencyTakenError, type Store } from "../../src/core/store.js";
import {
  appending,
  creation,
  ending,
  newKey,
  type OpenStore,
  range,
  readSequences,
  sideOnly,
  TIME_MS,
  unique,
  useStore,
} from "./fixtures.js";

/** One call to a store, for one of a few executions, keys and owners, so that calls meet. */
type Command =
  | { readonly kind: "create"; readonly execution: number; readonly scope: number | undefined }
  | {
      readonly kind: "append";
      readonly execution: number;
      readonly count: number;
      readonly off: number;
      readonly fence: number | undefined;
      readonly scope: number | undefined;
    }
  | { readonly kind: "end"; readonly execution: number }
  | { readonly kind: "claim"; readonly execution: number; readonly owner: number; readonly nowMs: number }
  | { readonly kind: "release"; readonly execution: number; readonly fence: number }
  | { readonly kind: "trim"; readonly endedBeforeMs: number; readonly parity: number | undefined };

/** What a store must hold after the commands so far, in the plainest form. */
interface Model {
  readonly executions: Map<number, ModelExecution>;
  readonly scopes: Set<number>;
}

interface ModelExecution {
  last: number;
  first: number;
  endTimeMs: number | undefined;
  fence: number;
  owner: { readonly name: number; readonly until: number } | undefined;
}

const LEASE_MS = 10;
const execution = fc.nat({ max: 2 });
const scope = fc.option(fc.nat({ max: 2 }), { nil: undefined, freq: 3 });
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("create" as const), execution, scope }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("append" as const),
      execution,
      count: fc.nat({ max: 5 }),
      off: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constantFrom(-1, 1) }),
      fence: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined, freq: 3 }),
      scope,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("end" as const), execution }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("claim" as const),
      execution,
      owner: fc.nat({ max: 1 }),
      nowMs: fc.nat({ max: 30 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("release" as const), execution, fence: fc.nat({ max: 3 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("trim" as const),
      endedBeforeMs: fc.nat({ max: 3 }),
      parity: fc.option(fc.nat({ max: 1 }), { nil: undefined, freq: 2 }),
    }),
  },
);

export function describeModel(open: OpenStore): void {
  const store = useStore(open);

  test("any calls, awaited or not, do what a plain model does", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 40 }), fc.boolean(), async (commands, awaited) => {
        await store().trim(TIME_MS + 1e12);
        const tenantId = unique("tenant");
        const keys = range(0, 2).map(() => newKey(tenantId));
        const model: Model = { executions: new Map(), scopes: new Set() };
        const outcomes: Promise<string>[] = [];
        const expected: string[] = [];
        for (const next of commands) {
          const outcome = outcomeOf(run(store(), keys, model, next));
          expected.push(step(model, next));
          outcomes.push(outcome);
          if (awaited) await outcome;
        }
        expect(await Promise.all(outcomes)).toEqual(expected);
        await check(store(), keys, model);
      }),
      { numRuns: process.env["SOAK"] === "1" ? 2000 : 60 },
    );
  });
}

/** Makes the call, with the log's end as the model knows it. */
function run(store: Store, keys: readonly ExecutionKey[], model: Model, next: Command): Promise<unknown> {
  if (next.kind === "trim") return store.trim(TIME_MS + next.endedBeforeMs, labelsOf(next.parity));
  const key = keys[next.execution]!;
  const last = model.executions.get(next.execution)?.last ?? 0;
  switch (next.kind) {
    case "create":
      return store.append(creation(key, { labels: labelsOf(next.execution % 2) }, recordOf(next.scope)));
    case "append": {
      const more = { ...recordOf(next.scope), ...(next.fence !== undefined && { fence: next.fence }) };
      const from = Math.max(0, last + next.off);
      return store.append(next.count === 0 ? sideOnly(key, from, more) : appending(key, from, next.count, more));
    }
    case "end":
      return store.append(ending(key, last, TIME_MS + next.execution));
    case "claim":
      return store.claim(key, `node-${next.owner}`, next.nowMs, next.nowMs + LEASE_MS);
    case "release":
      return store.release(key, next.fence);
  }
}

function labelsOf(parity: number | undefined): Record<string, string> {
  return parity === undefined ? {} : { parity: String(parity) };
}

function recordOf(scope: number | undefined) {
  return scope === undefined ? {} : { idempotency: { scope: `scope ${scope}`, digest: "d", resourceId: "r" } };
}

/** Moves the model and tells what the call must come to. */
function step(model: Model, next: Command): string {
  if (next.kind === "trim") return trimModel(model, next);
  const found = model.executions.get(next.execution);
  switch (next.kind) {
    case "create":
      return createInModel(model, next.execution, next.scope);
    case "append":
      return appendToModel(model, found, next);
    case "end":
      return endInModel(found, next.execution);
    case "claim":
      return claimInModel(found, next.owner, next.nowMs);
    case "release":
      if (found?.owner !== undefined && found.fence === next.fence) found.owner = undefined;
      return "undefined";
  }
}

function createInModel(model: Model, name: number, scope: number | undefined): string {
  if (scope !== undefined && model.scopes.has(scope)) return "taken";
  if (model.executions.has(name)) return "SEQUENCE_CONFLICT";
  if (scope !== undefined) model.scopes.add(scope);
  model.executions.set(name, { last: 1, first: 1, endTimeMs: undefined, fence: 0, owner: undefined });
  return "undefined";
}

function appendToModel(model: Model, found: ModelExecution | undefined, next: Command & { kind: "append" }): string {
  const isStale =
    found !== undefined && next.fence !== undefined && (found.owner === undefined || found.fence !== next.fence);
  if (isStale) return "FENCED";
  if (next.scope !== undefined && model.scopes.has(next.scope)) return "taken";
  if (found === undefined || Math.max(0, found.last + next.off) !== found.last) return "SEQUENCE_CONFLICT";
  if (next.scope !== undefined) model.scopes.add(next.scope);
  found.last += next.count;
  return "undefined";
}

function endInModel(found: ModelExecution | undefined, name: number): string {
  if (found === undefined) return "SEQUENCE_CONFLICT";
  found.last++;
  found.endTimeMs = name;
  return "undefined";
}

function claimInModel(found: ModelExecution | undefined, name: number, nowMs: number): string {
  if (found === undefined) return "undefined";
  if (found.owner !== undefined && found.owner.name !== name && found.owner.until > nowMs) return "undefined";
  found.owner = { name, until: nowMs + LEASE_MS };
  return String(++found.fence);
}

function trimModel(model: Model, { endedBeforeMs, parity }: Command & { kind: "trim" }): string {
  let trimmed = 0;
  for (const [name, found] of model.executions) {
    if (parity !== undefined && name % 2 !== parity) continue;
    if (found.endTimeMs === undefined || found.endTimeMs >= endedBeforeMs || found.first > found.last) continue;
    found.first = found.last + 1;
    trimmed++;
  }
  return String(trimmed);
}

async function outcomeOf(call: Promise<unknown>): Promise<string> {
  try {
    return String(await call);
  } catch (error) {
    if (error instanceof IdempotencyTakenError) return "taken";
    return isHarnessError(error) ? (ErrorReason[error.reason] ?? "") : String(error);
  }
}

async function check(store: Store, keys: readonly ExecutionKey[], model: Model): Promise<void> {
  for (const [name, key] of keys.entries()) {
    const found = model.executions.get(name);
    const stored = await store.getExecution(key);
    expect(stored && [stored.lastSequence, stored.firstSequence, stored.state]).toEqual(
      found && [
        found.last,
        found.first,
        found.endTimeMs === undefined ? ExecutionState.QUEUED : ExecutionState.SUCCEEDED,
      ],
    );
    if (found !== undefined) expect(await readSequences(store, key)).toEqual(range(found.first, found.last));
  }
}
