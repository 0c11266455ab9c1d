import { crc32 } from "node:zlib";
import { invalid } from "../core/errors.js";
import { toPageSize } from "../core/paging.js";

/**
 * Cuts a page out of a list that is in the order of its IDs. The token holds the
 * last ID, so that a list that changes between two pages repeats nothing, and a
 * check of it, so that one that is made up, or another list's, is refused.
 */
export function pageOf<T>(
  items: readonly T[],
  request: { readonly pageSize: number; readonly pageToken: string },
  idOf: (item: T) => string,
): { readonly items: readonly T[]; readonly nextPageToken: string } {
  const after = request.pageToken === "" ? "" : parseToken(request.pageToken);
  const rest = items.filter((item) => idOf(item) > after);
  const page = rest.slice(0, toPageSize(request.pageSize));
  const last = page.at(-1);
  const more = last !== undefined && rest.length > page.length;
  return { items: page, nextPageToken: more ? formatToken(idOf(last)) : "" };
}

function parseToken(token: string): string {
  const [id = ""] = Buffer.from(token, "base64url").toString().split("\n");
  if (formatToken(id) === token) return id;
  throw invalid(
    "page_token",
    "not a token of this list: pass the next_page_token of its last page unchanged, or leave it empty to begin anew",
  );
}

function formatToken(id: string): string {
  return Buffer.from(`${id}\n${crc32(`providers\n${id}`).toString(36)}`).toString("base64url");
}
