import type { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { WatchBatch } from "./runtime.js";

/** Events as the store gave them, in pieces, which are joined only for whoever asks. */
export class LogBatch implements WatchBatch {
  #joined: Uint8Array | undefined;

  constructor(
    readonly parts: readonly Uint8Array[],
    readonly nextAfterSequence: number,
    readonly headSequence: number,
    readonly state: ExecutionState,
    readonly last: boolean,
  ) {}

  get bytes(): Uint8Array {
    this.#joined ??= join(this.parts);
    return this.#joined;
  }
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const [first = new Uint8Array(), ...others] = parts;
  return others.length === 0 ? first : Buffer.concat(parts);
}
