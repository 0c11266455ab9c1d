import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { ActionKind } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { ErrorReason, FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { HarnessRpcError, isRetryable } from "../../src/client/errors.js";
import { eventName } from "../../src/core/event-name.js";
import { type EventKind, TRANSITIONS } from "../../src/core/lifecycle.js";
import { CODES } from "../../src/server/errors.js";

/** The rows of a page's tables whose first cell is code, as cells. */
function rowsOf(page: string): readonly (readonly string[])[] {
  const lines = readFileSync(join(import.meta.dirname, "../../docs", page), "utf8").split("\n");
  return lines.filter((line) => line.startsWith("| `")).map((line) => line.slice(2, -2).split(" | "));
}

const plain = (cell: string): string => cell.replaceAll("`", "");

test("docs/lifecycle.md has every transition of the table, and no other", () => {
  const documented = rowsOf("lifecycle.md").flatMap(([event = "", from = "", to = ""]) => {
    return from.split(", ").map((state) => `${plain(event)}: ${state === "(nothing)" ? "UNSPECIFIED" : state} > ${to}`);
  });
  expect(documented.toSorted()).toEqual(transitions().toSorted());
});

function transitions(): string[] {
  return (Object.keys(TRANSITIONS) as EventKind[]).flatMap((kind) => {
    const edges = TRANSITIONS[kind];
    const name = eventName(kind);
    if (typeof edges !== "function") return named(name, edges ?? []);
    const edgesOf = edges as (value: unknown) => readonly (readonly [ExecutionState, ExecutionState])[];
    return [
      ...named(`${name} (input)`, edgesOf({ action: { kind: ActionKind.INPUT } })),
      ...named(`${name} (approval)`, edgesOf({ action: { kind: ActionKind.APPROVAL } })),
    ];
  });
}

function named(name: string, edges: readonly (readonly [ExecutionState, ExecutionState])[]): string[] {
  return edges
    .filter(([from, to]) => from !== to)
    .map(([from, to]) => `${name}: ${ExecutionState[from]} > ${ExecutionState[to]}`);
}

test("docs/errors.md has every reason with its code", () => {
  const documented = rowsOf("errors.md").filter((cells) => cells.length === 4);
  const expected = Object.entries(CODES).map(([reason, code]) => [ErrorReason[Number(reason)], screaming(Code[code])]);
  expect(documented.map(([reason = "", code]) => [plain(reason), code])).toEqual(expected);
});

test("the client tries again by itself what docs/errors.md says it does, and nothing else", () => {
  const documented = rowsOf("errors.md").filter((cells) => cells.length === 4);
  for (const [name = "", , again] of documented) {
    const reason = ErrorReason[plain(name) as keyof typeof ErrorReason];
    expect([
      name,
      isRetryable(new HarnessRpcError("refused", CODES[reason as keyof typeof CODES], { reason })),
    ]).toEqual([name, again === "yes"]);
  }
});

test("docs/errors.md has every reason for which an execution fails", () => {
  const documented = rowsOf("errors.md").filter((cells) => cells.length === 2);
  const reasons = Object.values(FailureReason).filter(
    (reason) => typeof reason === "string" && reason !== "UNSPECIFIED",
  );
  expect(documented.map(([reason = ""]) => plain(reason))).toEqual(reasons);
});

function screaming(name: string): string {
  return name.replaceAll(/(?<=[a-z])([A-Z])/g, "_$1").toUpperCase();
}
