import { crc32 } from "node:zlib";
import { invalid } from "../core/errors.js";
import type { Page } from "../core/store.js";
import type { Position, RawPage } from "./page.js";

/** The lists that have pages. A token of one is refused by the others. */
export type ListName = "executions" | "actions" | "artifacts" | "conversations";

/** Gives a page the token that {@link parsePageToken} takes back. */
export function toPage<T>(list: ListName, { items, next }: RawPage<T>): Page<T> {
  return { items, nextPageToken: next === undefined ? "" : formatPageToken(list, next) };
}

/** Returns where the page of `token` begins; undefined for the first page, whose token is empty. */
export function parsePageToken(list: ListName, token: string): Position | undefined {
  if (token === "") return undefined;
  const [order = "", id = "", ...rest] = Buffer.from(token, "base64url").toString("utf8").split("\n");
  const position = { order: Number(order), id };
  if (rest.length !== 1 || !Number.isSafeInteger(position.order) || formatPageToken(list, position) !== token) {
    throw invalid(
      "page_token",
      `not a token of this list: pass the next_page_token of its last page unchanged, or leave it empty to begin anew`,
    );
  }
  return position;
}

function formatPageToken(list: ListName, { order, id }: Position): string {
  const text = `${order}\n${id}`;
  const check = crc32(`${list}\n${text}`).toString(36);
  return Buffer.from(`${text}\n${check}`, "utf8").toString("base64url");
}
