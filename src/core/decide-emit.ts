import { toBinary } from "@bufbuild/protobuf";
import { type Artifact, ArtifactSchema } from "../../gen/ts/harnessruntime/v1/artifact_pb.js";
import { type Decision, nothing, type PayloadInit, record } from "./decision.js";
import type { Fold } from "./fold.js";
import { isTerminal } from "./lifecycle.js";
import type { ArtifactRow, SideWrites } from "./store.js";
import { ProtocolViolationError } from "./violation.js";

/** What one call of `emit` appends. */
export interface Emission {
  readonly payloads: readonly PayloadInit[];
  readonly artifacts: readonly Artifact[];
  readonly mark: number | undefined;
  readonly resumeState: Uint8Array | undefined;
}

/** Appends what a provider emits, and what is stored with it. The result tells whether it did: after the end nothing is. */
export function decideEmit(
  fold: Fold,
  { payloads, artifacts, mark, resumeState }: Emission,
  nowMs: number,
): Decision<boolean> {
  if (isTerminal(fold.execution.state)) return nothing(fold, false);
  mustBeNew(fold, artifacts);
  const announced = artifacts.map((artifact): PayloadInit => ({ case: "artifactCreated", value: { artifact } }));
  const { fold: after, events } = record(fold, [...payloads, ...announced], nowMs);
  const isNew = mark !== undefined && mark > fold.inner.mark;
  const marked = isNew ? { ...after, inner: { ...after.inner, mark } } : after;
  const side: SideWrites = {
    ...(resumeState === undefined ? {} : { resumeState }),
    ...(artifacts.length === 0 ? {} : { artifacts: artifacts.map(toRow) }),
  };
  const writes = mark !== undefined || Object.keys(side).length > 0;
  return { fold: marked, events, ...(writes ? { side } : {}), result: true };
}

function mustBeNew({ artifactIds }: Fold, artifacts: readonly Artifact[]): void {
  const seen = new Set<string>();
  for (const { id } of artifacts) {
    if (artifactIds.has(id) || seen.has(id)) {
      throw new ProtocolViolationError(`the execution has an artifact ${JSON.stringify(id)} already`);
    }
    seen.add(id);
  }
}

function toRow(artifact: Artifact): ArtifactRow {
  return { artifactId: artifact.id, bytes: toBinary(ArtifactSchema, artifact) };
}
