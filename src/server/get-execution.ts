import { create } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type GetExecutionRequest,
  type GetExecutionResponse,
  GetExecutionResponseSchema,
} from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import type { Runtime } from "../core/runtime.js";
import { callerOf, readsJson } from "./call.js";

/** GetExecution, the read that is made most: for readers of the binary form the execution's bytes as they are kept. */
export async function getExecution(
  runtime: Pick<Runtime, "getExecution" | "encodedExecution">,
  { executionId }: GetExecutionRequest,
  context: HandlerContext,
): Promise<GetExecutionResponse> {
  const caller = callerOf(context);
  const response = create(GetExecutionResponseSchema);
  if (readsJson(context)) {
    response.execution = await runtime.getExecution(caller, executionId);
    return response;
  }
  const bytes = await runtime.encodedExecution(caller, executionId);
  const data = new BinaryWriter().bytes(bytes).finish();
  response.$unknown = [{ no: EXECUTION_FIELD, wireType: WireType.LengthDelimited, data }];
  return response;
}

const EXECUTION_FIELD = GetExecutionResponseSchema.field.execution.number;
