import { clone, create, fromBinary } from "@bufbuild/protobuf";
import { type Content, ContentSchema } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import type { Fold } from "./fold.js";
import type { ActionAnswer, ResumeInfo } from "./provider.js";
import type { ExecutionKey, SideRows, Store } from "./store.js";

/** Returns what an attempt is told of the ones before it: `before` is the fold that they left. */
export function resumeInfo(
  attempt: number,
  before: Fold,
  rows: SideRows,
  answers: readonly ActionAnswer[],
): ResumeInfo {
  const bodies = new Map(rows.inputs.map(({ inputId, bytes }) => [inputId, bytes]));
  return {
    attempt,
    turn: before.execution.turn,
    state: rows.resumeState,
    lastSequence: before.lastSequence,
    mark: before.inner.mark,
    answers,
    inputs: before.inner.steers.map((inputId) => ({
      inputId,
      content: fromBinary(ContentSchema, bodies.get(inputId) ?? new Uint8Array()),
    })),
  };
}

/** Returns the input of the turn that a stored fold is in. */
export async function turnInput(store: Store, key: ExecutionKey, { inner, execution }: Fold): Promise<Content> {
  if (inner.turnInput === "")
    return execution.input === undefined ? create(ContentSchema) : clone(ContentSchema, execution.input);
  const row = await store.getInput(key, inner.turnInput);
  return row === undefined ? create(ContentSchema) : fromBinary(ContentSchema, row.bytes);
}
