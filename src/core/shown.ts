import { type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { MAX_VIEW_BYTES } from "./limits.js";

/** One frame of a view: items, whether all current matches were shown, and what left the filter. */
export interface ViewUpdate<T> {
  readonly items: T[];
  readonly synced: boolean;
  readonly removedIds: string[];
}

/** Says that all matches were shown; later, that nothing changed since: the heartbeat. */
export function nothingNew(): ViewUpdate<never> {
  return { items: [], synced: true, removedIds: [] };
}

/** An item of a view. */
export type ViewItem = Message & { readonly id: string };

/** What a view shows of. */
export interface ShownOptions<T extends ViewItem> {
  readonly schema: DescMessage;
  readonly matches: (item: T) => boolean;
  /** Whether an item does not change again. */
  readonly isFinal: (item: T) => boolean;
}

/** What a view shows that can still leave its filter. */
export class Shown<T extends ViewItem> {
  readonly #ids = new Set<string>();
  readonly #options: ShownOptions<T>;

  constructor(options: ShownOptions<T>) {
    this.#options = options;
  }

  /** A page of what matches at first. */
  page(items: T[]): ViewUpdate<T> {
    for (const item of items) this.#show(item);
    return { items, synced: false, removedIds: [] };
  }

  /** What changed of what matches or did, in frames of a bounded size; none where nothing of it does. */
  async *updates(changed: AsyncIterable<T>): AsyncGenerator<ViewUpdate<T>> {
    yield* frames(this.#partsOf(changed));
  }

  async *#partsOf(items: AsyncIterable<T>): AsyncGenerator<Part<T>> {
    for await (const item of items) {
      const part = this.#partOf(item);
      if (part !== undefined) yield part;
    }
  }

  /** All that matches now, in frames of a bounded size, with what was shown and does not match any more. */
  async *anew(pages: AsyncIterable<readonly T[]>): AsyncGenerator<ViewUpdate<T>> {
    yield* frames(this.#partsAnew(pages));
  }

  async *#partsAnew(pages: AsyncIterable<readonly T[]>): AsyncGenerator<Part<T>> {
    const gone = new Set(this.#ids);
    for await (const page of pages) {
      for (const item of page) gone.delete(item.id);
      yield* page.flatMap((item) => this.#partOf(item) ?? []);
    }
    for (const removedId of gone) if (this.#ids.delete(removedId)) yield { removedId, sizeBytes: removedId.length };
  }

  /** What a changed item is to the view; undefined where it neither matches nor did. */
  #partOf(item: T): Part<T> | undefined {
    const { schema, matches } = this.#options;
    if (!matches(item))
      return this.#ids.delete(item.id) ? { removedId: item.id, sizeBytes: item.id.length } : undefined;
    this.#show(item);
    return { item, sizeBytes: toBinary(schema, item).length };
  }

  #show(item: T): void {
    if (this.#options.isFinal(item)) this.#ids.delete(item.id);
    else this.#ids.add(item.id);
  }
}

/** What a frame is made of: an item, or the ID of one that left the filter. */
type Part<T> = { readonly sizeBytes: number } & ({ readonly item: T } | { readonly removedId: string });

/** A frame that is being filled. */
class Frame<T> {
  readonly update: ViewUpdate<T> = nothingNew();
  #sizeBytes = 0;

  get isEmpty(): boolean {
    return this.#sizeBytes === 0;
  }

  hasRoomFor({ sizeBytes }: Part<T>): boolean {
    return this.isEmpty || this.#sizeBytes + sizeBytes <= MAX_VIEW_BYTES;
  }

  add(part: Part<T>): void {
    if ("item" in part) this.update.items.push(part.item);
    else this.update.removedIds.push(part.removedId);
    this.#sizeBytes += part.sizeBytes;
  }
}

async function* frames<T>(parts: AsyncIterable<Part<T>>): AsyncGenerator<ViewUpdate<T>> {
  let frame = new Frame<T>();
  for await (const part of parts) {
    if (!frame.hasRoomFor(part)) {
      yield frame.update;
      frame = new Frame();
    }
    frame.add(part);
  }
  if (!frame.isEmpty) yield frame.update;
}
