import { inspect } from "node:util";
import { create } from "@bufbuild/protobuf";
import { anyPack, durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/ts/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../gen/ts/google/rpc/status_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import {
  ContiguityError,
  fromStatus,
  HarnessRpcError,
  isRetryable,
  reasonOf,
  toRpcError,
} from "../../src/client/errors.js";

function refused(code: Code, reason: string, metadata: Record<string, string> = {}, domain = "harnessruntime") {
  return new ConnectError("no", code, undefined, [{ desc: ErrorInfoSchema, value: { reason, domain, metadata } }]);
}

describe("an error", () => {
  test("W02 says the reason, the metadata, the fields and the time to wait", () => {
    const error = new ConnectError("bad field", Code.InvalidArgument, undefined, [
      {
        desc: ErrorInfoSchema,
        value: { reason: "VALIDATION_ERROR", domain: "harnessruntime", metadata: { field: "mode" } },
      },
      { desc: BadRequestSchema, value: { fieldViolations: [{ field: "mode", description: "is required" }] } },
      { desc: RetryInfoSchema, value: { retryDelay: durationFromMs(1500) } },
    ]);
    const typed = toRpcError(error);
    expect(typed).toBeInstanceOf(HarnessRpcError);
    expect(typed).toMatchObject({
      message: "VALIDATION_ERROR: bad field",
      rawMessage: "bad field",
      code: Code.InvalidArgument,
      reason: ErrorReason.VALIDATION_ERROR,
      metadata: { field: "mode" },
      violations: [{ field: "mode", description: "is required" }],
      retryAfterMs: 1500,
    });
    expect(toRpcError(typed)).toBe(typed);
  });

  test("that nobody catches says the reason first, and prints few lines", () => {
    // As Node prints it.
    const printed = inspect(toRpcError(refused(Code.NotFound, "PROVIDER_NOT_FOUND", { id: "scriptd" })), {
      customInspect: false,
    });
    const [first, ...more] = printed.split("\n").filter((line) => !/^\s+at /.test(line));
    expect(first).toMatch(/^HarnessRpcError: PROVIDER_NOT_FOUND: no/);
    expect(more.length).toBeLessThan(10);
  });

  test("has its cause where the server gave no reason", () => {
    const cut = new ConnectError("cut", Code.Unavailable);
    expect(toRpcError(cut)).toMatchObject({ message: "cut", rawMessage: "cut", cause: cut });
    expect(toRpcError(refused(Code.NotFound, "NOT_FOUND")).cause).toBeUndefined();
  });

  test("has a reason only when the server gave one that this client knows", () => {
    expect(reasonOf(refused(Code.NotFound, "NOT_FOUND"))).toBe(ErrorReason.NOT_FOUND);
    expect(reasonOf(refused(Code.NotFound, "NOT_FOUND", {}, "example.com"))).toBeUndefined();
    expect(reasonOf(refused(Code.NotFound, "OF_A_LATER_VERSION"))).toBeUndefined();
    expect(reasonOf(new ConnectError("cut", Code.Unavailable))).toBeUndefined();
    expect(reasonOf("not an error")).toBeUndefined();
  });

  test("that came as the status in a receipt is the same as one that ended a call", () => {
    const detail = create(ErrorInfoSchema, {
      reason: "INVALID_STATE",
      domain: "harnessruntime",
      metadata: { state: "EXECUTION_STATE_FAILED" },
    });
    const status = create(StatusSchema, {
      code: Code.FailedPrecondition,
      message: "it is over",
      details: [anyPack(ErrorInfoSchema, detail)],
    });
    expect(fromStatus(status)).toMatchObject({
      message: "INVALID_STATE: it is over",
      code: Code.FailedPrecondition,
      reason: ErrorReason.INVALID_STATE,
      metadata: { state: "EXECUTION_STATE_FAILED" },
    });
  });
});

describe("trying again", () => {
  test.each([
    ["a server that drains", refused(Code.Unavailable, "SERVER_DRAINING"), true],
    ["a stream that is to be resumed", refused(Code.Unavailable, "RESUME_AFTER"), true],
    ["a store that does not answer", refused(Code.Unavailable, "STORE_UNAVAILABLE"), true],
    ["a write that lost a race", refused(Code.Aborted, "SEQUENCE_CONFLICT"), true],
    ["a provider that is not there", refused(Code.Unavailable, "PROVIDER_UNAVAILABLE"), false],
    ["a fault of the runtime", refused(Code.Internal, "INTERNAL"), false],
    ["a cursor beyond the head", refused(Code.OutOfRange, "CURSOR_AHEAD"), false],
    ["a log with a gap", new ContiguityError("gap", "exe_1", 2, 3), false],
    ["a network that is down", new ConnectError("refused", Code.Unavailable), true],
    ["a broken HTTP/2 stream", new ConnectError("reset", Code.Internal), true],
    ["a stream that a proxy reset", new ConnectError("reset", Code.Canceled), true],
    ["half a frame", new ConnectError("incomplete envelope", Code.InvalidArgument), true],
    ["a fetch that failed", new TypeError("network error"), true],
    ["a deadline", new ConnectError("late", Code.DeadlineExceeded), true],
    ["a proxy that wants credentials", new ConnectError("401", Code.Unauthenticated), false],
    ["a server without the method", new ConnectError("404", Code.Unimplemented), false],
  ])("%s: %#", (_, error, again) => {
    expect(isRetryable(error)).toBe(again);
  });
});
