import { create, toBinary } from "@bufbuild/protobuf";
import {
  ActionKind,
  type ActionRequest,
  ActionRequestSchema,
  ActionState,
} from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type { ProviderManifest } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { supports } from "./capability.js";
import { checkJson } from "./check-json.js";
import { invalid } from "./errors.js";
import { MAX_DESCRIPTOR_BYTES, MAX_KEY_LENGTH } from "./limits.js";
import type { ActionInit } from "./provider.js";
import { compile } from "./schema.js";
import { ProtocolViolationError } from "./violation.js";

/**
 * Returns the action that a provider asks for, as it will be stored under `id`.
 * Throws a ProtocolViolationError for what breaks the contract, and a HarnessError
 * with VALIDATION_ERROR for more than 64 KiB.
 */
export function checkAction(init: ActionInit, manifest: ProviderManifest, id: string): ActionRequest {
  const isInput = init.kind === ActionKind.INPUT;
  if (!isInput && init.kind !== ActionKind.APPROVAL)
    throw new ProtocolViolationError("an action is an approval or an input");
  const capability = isInput ? "action.input" : "action.approval";
  if (!supports(manifest, capability)) {
    throw new ProtocolViolationError(`the action needs the capability ${capability}, which the manifest does not have`);
  }
  if (typeof init.key !== "string" || init.key === "" || init.key.length > MAX_KEY_LENGTH) {
    throw new ProtocolViolationError(`an action's key has 1 to ${MAX_KEY_LENGTH} characters`);
  }
  const action = encodable(() =>
    create(ActionRequestSchema, {
      id,
      kind: init.kind,
      state: ActionState.PENDING,
      title: init.title,
      description: init.description ?? "",
      options: [...(init.options ?? [])],
      providerRef: init.providerRef ?? "",
      ...(init.payload === undefined ? {} : { payload: init.payload }),
      ...(init.inputSchema === undefined ? {} : { inputSchema: init.inputSchema }),
    }),
  );
  const optionIds = action.options.map(({ id }) => id);
  if (optionIds.includes("") || new Set(optionIds).size < optionIds.length) {
    throw new ProtocolViolationError("an action's options have different, non-empty IDs");
  }
  mustBeJson(action);
  if (action.inputSchema !== undefined) mustCompile(action.inputSchema);
  return action;
}

function encodable(make: () => ActionRequest): ActionRequest {
  let action: ActionRequest;
  let sizeBytes: number;
  try {
    action = make();
    sizeBytes = toBinary(ActionRequestSchema, action).length;
  } catch (error) {
    throw new ProtocolViolationError(`the action cannot be encoded: ${error instanceof Error ? error.message : error}`);
  }
  if (sizeBytes > MAX_DESCRIPTOR_BYTES) {
    throw invalid(
      "action",
      `it is ${sizeBytes} bytes and an action is at most ${MAX_DESCRIPTOR_BYTES}; refer to large content by artifact`,
    );
  }
  return action;
}

function mustBeJson({ payload }: ActionRequest): void {
  try {
    if (payload !== undefined) checkJson(payload, "payload");
  } catch (error) {
    throw new ProtocolViolationError(`the action's ${error instanceof Error ? error.message : error}`);
  }
}

function mustCompile(schema: NonNullable<ActionRequest["inputSchema"]>): void {
  try {
    checkJson(schema, "input_schema");
    compile(schema);
  } catch (error) {
    throw new ProtocolViolationError(`the action's input schema: ${error instanceof Error ? error.message : error}`);
  }
}
