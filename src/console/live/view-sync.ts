/** Rows by id that a server's view changes. */
export interface ViewRows<T> {
  change(changed: readonly T[], removedIds: readonly string[]): void;
  /** Forgets every row but these: the view has sent all there is. */
  keepOnly(ids: ReadonlySet<string>): void;
}

/** Takes the frames of one stream of a view. */
export interface ViewSync<T> {
  /** Returns how many rows came before the view was whole. */
  take(changed: readonly T[], frame: { readonly removedIds: readonly string[]; readonly synced: boolean }): number;
}

/** A stream of a view starts over: what it has not sent when it says that it is whole, is gone. */
export function createViewSync<T extends { readonly id: string }>(rows: ViewRows<T>): ViewSync<T> {
  const sent = new Set<string>();
  let whole = false;
  return {
    take(changed, { removedIds, synced }) {
      if (!whole) for (const { id } of changed) sent.add(id);
      rows.change(changed, removedIds);
      if (synced && !whole) {
        whole = true;
        rows.keepOnly(sent);
      }
      return sent.size;
    },
  };
}
