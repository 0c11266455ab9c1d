import { invalid } from "../core/errors.js";
import { toPageSize } from "../core/paging.js";

/**
 * Cuts a page out of a list that is in the order of its IDs. The token is the
 * last ID, so that a list that changes between two pages repeats nothing.
 */
export function pageOf<T>(
  items: readonly T[],
  request: { readonly pageSize: number; readonly pageToken: string },
  idOf: (item: T) => string,
): { readonly items: readonly T[]; readonly nextPageToken: string } {
  const after = request.pageToken === "" ? "" : decodeToken(request.pageToken);
  const rest = items.filter((item) => idOf(item) > after);
  const page = rest.slice(0, toPageSize(request.pageSize));
  const last = page.at(-1);
  const more = last !== undefined && rest.length > page.length;
  return { items: page, nextPageToken: more ? Buffer.from(idOf(last)).toString("base64url") : "" };
}

function decodeToken(token: string): string {
  const id = Buffer.from(token, "base64url").toString();
  if (Buffer.from(id).toString("base64url") !== token) throw invalid("page_token", "is not one that a page gave");
  return id;
}
