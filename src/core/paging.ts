import { invalid } from "./errors.js";
import type { PageQuery } from "./store.js";

/** Items on a page where the request does not say. */
const DEFAULT_PAGE_SIZE = 50;
/** The most items on a page, whatever the request says. */
export const MAX_PAGE_SIZE = 1000;

/** Returns a request's page as a store wants it: 0 is 50, above 1000 is 1000, negative is VALIDATION_ERROR. */
export function pageQuery({
  pageSize,
  pageToken,
}: {
  readonly pageSize: number;
  readonly pageToken: string;
}): PageQuery {
  return { pageSize: toPageSize(pageSize), pageToken };
}

/** Returns the number of items on a page. */
export function toPageSize(pageSize: number): number {
  if (pageSize < 0) throw invalid("page_size", "it must not be negative");
  return pageSize === 0 ? DEFAULT_PAGE_SIZE : Math.min(pageSize, MAX_PAGE_SIZE);
}
