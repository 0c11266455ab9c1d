import { describe, expect, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import {
  collectLabel,
  collectList,
  parseCount,
  parseDurationMs,
  parseEnum,
  parseJson,
  parseJsonObject,
} from "../../src/cli/arguments.js";
import { CliError, EXIT } from "../../src/cli/cli-error.js";

test("arguments are read as people write them", () => {
  expect(collectLabel("b=c=d", { a: "1" })).toEqual({ a: "1", b: "c=d" });
  expect(collectList("b, c", ["a"])).toEqual(["a", "b", "c"]);
  expect(parseCount("--limit", "12")).toBe(12);
  expect(["500ms", "1.5s", "2m", "1h"].map((text) => parseDurationMs("--t", text))).toEqual([
    500, 1_500, 120_000, 3_600_000,
  ]);
  expect(parseEnum<ExecutionState>("--state", ExecutionState, ["running", "AWAITING-INPUT"])).toEqual([
    ExecutionState.RUNNING,
    ExecutionState.AWAITING_INPUT,
  ]);
  expect(parseJson("--value", "[1]")).toEqual([1]);
});

describe("an argument that cannot be read is a usage error that names it", () => {
  test.each([
    ["--label x", () => collectLabel("x")],
    ["--limit", () => parseCount("--limit", "-1")],
    ["--limit: must be a whole number from 1", () => parseCount("--limit", "0", 1)],
    ["--timeout", () => parseDurationMs("--timeout", "5")],
    ["--state: must be one of queued, starting", () => parseEnum<ExecutionState>("--state", ExecutionState, ["done"])],
    ["--state", () => parseEnum<ExecutionState>("--state", ExecutionState, ["unspecified"])],
    ["--config: Expected property name or '}' in JSON, line 1, column 2", () => parseJson("--config", "{")],
    [`--config: Unexpected token 'x'`, () => parseJson("--config", '{"a":\n  x}')],
    [", line 2, column 3; give JSON", () => parseJson("--config", '{"a":\n  x}')],
    [", line 1, column 8; give JSON", () => parseJson("--config", '{"a":"b')],
    [", line 3, column 1; give JSON", () => parseJson("--config", '{"a": [1, tru\n,\n]}'.replace("tru", "true"))],
    [", line 1, column 8; give JSON", () => parseJson("--config", '{"a":1}}')],
    ["--config", () => parseJson("--config", "@/nowhere/config.json")],
    ["--config: must be a JSON object", () => parseJsonObject("--config", "[]")],
  ])("%s", (message, read) => {
    const error = errorOf(read);
    expect(error).toBeInstanceOf(CliError);
    expect(error).toMatchObject({ exitCode: EXIT.usage, message: expect.stringContaining(message) });
  });
});

function errorOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}
