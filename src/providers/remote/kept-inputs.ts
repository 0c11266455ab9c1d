import { toBinary } from "@bufbuild/protobuf";
import { type Input, InputSchema } from "../../../gen/ts/harnessruntime/provider/v1/run_pb.js";

/** What is kept of a turn's inputs: the newest, so many of them and so many bytes. Older ones have long arrived. */
const MAX_INPUTS = 1_000;
const MAX_BYTES = 2 << 20;

/** What was steered into a turn, to be given again over the next stream: a provider's stream has no word for what arrived. */
export class KeptInputs {
  readonly #kept: { readonly input: Input; readonly bytes: number }[] = [];
  #bytes = 0;

  constructor(inputs: readonly Input[]) {
    for (const input of inputs) this.add(input);
  }

  add(input: Input): void {
    const bytes = toBinary(InputSchema, input).length;
    this.#kept.push({ input, bytes });
    this.#bytes += bytes;
    while (this.#kept.length > MAX_INPUTS || this.#bytes > MAX_BYTES) this.#bytes -= this.#kept.shift()?.bytes ?? 0;
  }

  /** Returns them, oldest first. */
  all(): readonly Input[] {
    return this.#kept.map(({ input }) => input);
  }
}
