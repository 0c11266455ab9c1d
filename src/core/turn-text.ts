import { decodeChunk } from "./chunk.js";
import { cutText } from "./cut-text.js";
import type { PayloadInit } from "./decision.js";
import { MAX_OUTPUT_BYTES } from "./limits.js";
import type { TurnText } from "./outcome.js";
import type { ExecutionKey, Store } from "./store.js";

const PAGE_BYTES = 1024 * 1024;

/** Joins the text deltas of one turn, up to what an output may be. */
export class TextCollector {
  #text = "";
  #sizeBytes = 0;
  #truncated = false;

  get text(): TurnText {
    return { text: this.#text, truncated: this.#truncated };
  }

  /** Adds what {@link deltasOf} gives. */
  add(deltas: readonly string[]): void {
    for (const delta of deltas) if (!this.#truncated) this.#append(delta);
  }

  #append(piece: string): void {
    const cut = cutText(piece, MAX_OUTPUT_BYTES - this.#sizeBytes);
    this.#text += cut.text;
    this.#sizeBytes += Buffer.byteLength(cut.text);
    this.#truncated = cut.truncated;
  }
}

/** Returns the text of each text delta. */
export function deltasOf(payloads: readonly PayloadInit[]): readonly string[] {
  return payloads.flatMap((payload) => (payload.case === "outputTextDelta" ? [payload.value.text ?? ""] : []));
}

/** Collects again what the current turn emitted before a crash; `turnStart` is the sequence of its first event. */
export async function recollect(store: Store, key: ExecutionKey, turnStart: number): Promise<TextCollector> {
  const collector = new TextCollector();
  let after = Math.max(turnStart - 1, 0);
  for (;;) {
    const slice = await store.read(key, after, PAGE_BYTES);
    const chunks = slice?.chunks ?? [];
    for (const chunk of chunks) {
      const events = decodeChunk(chunk).filter((event) => event.sequence > after);
      collector.add(deltasOf(events.map((event) => event.payload as PayloadInit)));
    }
    const last = chunks.at(-1)?.lastSequence ?? after;
    if (last <= after || last >= (slice?.headSequence ?? 0)) return collector;
    after = last;
  }
}
