import { create, fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { ActionKind, ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import {
  CreateConversationRequestSchema,
  ListConversationsRequestSchema,
} from "../../gen/ts/harnessruntime/v1/conversation_service_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { checkJson, checkJsonValue, MAX_JSON_DEPTH } from "../../src/core/check-json.js";
import { CALLER, openKit, provider } from "./kit.js";

const numeric = (value: number) => create(ValueSchema, { kind: { case: "numberValue", value } });

function nested(depth: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

describe("checkJson", () => {
  test("takes what JSON has a form for, down to 32 levels", () => {
    const value = nested(MAX_JSON_DEPTH);
    expect(() => checkJson(value, "config")).not.toThrow();
    expect(() => checkJsonValue(fromJson(ValueSchema, value), "value")).not.toThrow();
    expect(() => checkJson({ a: [null, true, "b", 1.5], $typeName: "x", kind: {} }, "config")).not.toThrow();
  });

  test.each<[string, JsonObject, string]>([
    ["NaN", { a: [1, { b: Number.NaN }] }, "config.a[1].b"],
    ["an infinite number", { a: Number.NEGATIVE_INFINITY }, "config.a"],
    ["no kind", { a: undefined as never }, "config.a"],
  ])("refuses %s and names where it is", (_, value, field) => {
    expect(() => checkJson(value, "config")).toThrow(
      expect.objectContaining({ reason: ErrorReason.VALIDATION_ERROR, metadata: { field } }),
    );
  });

  test("refuses 33 levels, as plain JSON and as a message", () => {
    const value = nested(MAX_JSON_DEPTH + 1);
    const refusal = expect.objectContaining({ reason: ErrorReason.VALIDATION_ERROR });
    expect(() => checkJson(value, "config")).toThrow(refusal);
    expect(() => checkJsonValue(fromJson(ValueSchema, value), "value")).toThrow(refusal);
  });

  test.each<[string, Value]>([
    ["NaN", numeric(Number.NaN)],
    ["an infinite number", numeric(Number.POSITIVE_INFINITY)],
    ["no kind", create(ValueSchema)],
    [
      "a list with a value of no kind",
      create(ValueSchema, { kind: { case: "listValue", value: { values: [create(ValueSchema)] } } }),
    ],
    [
      "an object with NaN",
      create(ValueSchema, { kind: { case: "structValue", value: { fields: { a: numeric(Number.NaN) } } } as never }),
    ],
  ])("an answer with %s is refused, and the action stays open", async (_, value) => {
    const asks = provider(async (context) => {
      await context.requestAction({ key: "k", kind: ActionKind.INPUT, title: "t" });
    });
    const kit = await openKit({ providers: [asks] });
    const { id } = await kit.start();
    const action = await kit.action(id);
    await expect(kit.respond(action, { value })).rejects.toMatchObject({ reason: ErrorReason.VALIDATION_ERROR });
    const good = { value: numeric(1), metadata: { a: Number.NaN } };
    await expect(kit.respond(action, good)).rejects.toMatchObject({
      metadata: { field: "response.metadata.a" },
    });
    expect(await kit.actions()).toMatchObject([{ id: action.id, state: ActionState.PENDING }]);
    await kit.respond(action, { value: numeric(1) });
    expect((await kit.over(id)).state).toBe(ExecutionState.SUCCEEDED);
  });

  test("a conversation's metadata with NaN is refused, and nothing is made", async () => {
    const kit = await openKit();
    const request = create(CreateConversationRequestSchema, { metadata: { a: Number.NaN } });
    await expect(kit.runtime.createConversation(CALLER, request)).rejects.toMatchObject({
      reason: ErrorReason.VALIDATION_ERROR,
      metadata: { field: "metadata.a" },
    });
    const { conversations } = await kit.runtime.listConversations(CALLER, create(ListConversationsRequestSchema));
    expect(conversations).toEqual([]);
  });
});
