/** One page of a list. */
interface Page<T> {
  readonly items: readonly T[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

const LARGEST_PAGE = 1_000;

/** Reads pages until `limit` items are there or no page is left. */
export async function readPages<T>(
  limit: number,
  read: (page: { readonly pageSize: number; readonly pageToken: string }) => Promise<Page<T>>,
): Promise<readonly T[]> {
  const found: T[] = [];
  for (let pageToken = ""; found.length < limit; ) {
    const page = await read({ pageToken, pageSize: Math.min(limit - found.length, LARGEST_PAGE) });
    found.push(...page.items);
    pageToken = page.nextPageToken;
    if (pageToken === "") break;
  }
  return found;
}
