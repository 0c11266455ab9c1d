import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { isHarnessError } from "../core/errors.js";
import type { ProviderContext } from "../core/provider.js";
import type { EngineRun } from "./engine-run.js";
import type { HarnessDriverOutput } from "./result.js";
import type { TurnScope } from "./turn-scope.js";
import { putArtifact } from "./turn-services.js";

/** A text that is longer than this is kept whole as an artifact too, in bytes. */
const LONG_TEXT_BYTES = 65_536;

/** Announces what an accepted turn made: each artifact once a run, in whichever turns its driver lists it. */
export async function announceArtifacts(
  { run, context }: TurnScope,
  { artifacts = [], text }: HarnessDriverOutput,
): Promise<void> {
  for (const { id, mimeType } of artifacts) {
    if (run.announced.has(id) || (await wasAnnounced(run, id))) continue;
    await context.artifact({ id, name: id, mediaType: mimeType ?? "application/json" });
    run.announced.add(id);
  }
  await keepLongText(run, context, text);
}

/**
 * Keeps a text whole, as an artifact, that a result would only have the beginning of.
 * Clients of a served driver read it from the log: none could read this value.
 */
export async function keepLongText(run: EngineRun, context: ProviderContext, text: string): Promise<void> {
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes <= LONG_TEXT_BYTES || run.config.served) return;
  const id = putArtifact(run, text);
  await context.artifact({ id, name: "final-output.txt", mediaType: "text/plain", sizeBytes: BigInt(sizeBytes) });
}

/** Whether an attempt before this one did. */
async function wasAnnounced({ host, id: { runId, identity, attemptId } }: EngineRun, id: string): Promise<boolean> {
  if (attemptId === "1") return false;
  try {
    await host.runtime().getArtifact(identity, runId, id);
    return true;
  } catch (error) {
    if (isHarnessError(error, ErrorReason.NOT_FOUND)) return false;
    throw error;
  }
}
