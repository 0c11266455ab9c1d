import { type ReadonlySignal, signal } from "@preact/signals";
import type { Execution } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { ListExecutionsResponse } from "../../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import type { ExecutionRows } from "./execution-rows.js";

const PAGE_SIZE = 100;
/** So many more executions that are over than were asked for are kept as new ones come. */
const SPARE_ROWS = 1_000;

/** A list of executions that is read in pages, newest first. */
export interface ExecutionPages {
  /** Whether older ones can be loaded. */
  readonly more: ReadonlySignal<boolean>;
  /** Reads the first page again: new ones come with it. */
  readNewest(signal?: AbortSignal): Promise<void>;
  /** Reads one page of the older rows again, another with each call until all were. */
  readOlder(signal?: AbortSignal): Promise<void>;
  /** Reads the page after the last one that was loaded. */
  loadMore(): Promise<void>;
}

/** Reads one page. */
export type ReadPage = (
  page: { readonly pageSize: number; readonly pageToken: string },
  options: { readonly signal?: AbortSignal },
) => Promise<Pick<ListExecutionsResponse, "executions" | "nextPageToken">>;

/** Where a page begins. */
interface PageStart {
  readonly token: string;
  /** The execution before it. */
  readonly after: Execution | undefined;
}

const NEWEST: PageStart = { token: "", after: undefined };

export function createExecutionPages(readPage: ReadPage, rows: ExecutionRows): ExecutionPages {
  const more = signal(false);
  /** Where the list goes on; empty after the last page, undefined until the first was read. */
  let nextToken: string | undefined;
  /** So many rows were asked for. */
  let asked = PAGE_SIZE;
  /** The page that is read again next. */
  let older: PageStart | undefined;

  const read = async (start: PageStart, signal: AbortSignal | undefined, { onlyKnown = false, ranged = true } = {}) => {
    const askedAt = rows.now();
    const request = { pageSize: PAGE_SIZE, pageToken: start.token };
    const { executions, nextPageToken } = await readPage(request, signal === undefined ? {} : { signal });
    const last = executions.at(-1);
    const knewLast = last !== undefined && rows.has(last.id);
    if (ranged) rows.takePage({ executions, after: start.after, isLast: nextPageToken === "", askedAt, onlyKnown });
    else rows.change(executions, []);
    const after = last ?? start.after;
    const wanted = nextPageToken !== "" && after !== undefined && !rows.isOldest(after);
    return { nextPageToken, last, knewLast, next: wanted ? { token: nextPageToken, after } : undefined };
  };
  const goOnAt = (token: string): void => {
    nextToken = token;
    more.value = token !== "";
  };

  return {
    more,
    async readNewest(signal) {
      const { nextPageToken, last, knewLast, next } = await read(NEWEST, signal);
      older ??= next;
      // Beyond a page of which nothing was known there may be others that are not.
      if (nextToken === undefined || !knewLast) goOnAt(nextPageToken);
      const ended = rows.shown.peek().length - rows.activeIds().length;
      if (last === undefined || ended <= asked + SPARE_ROWS) return;
      rows.dropEnded(last);
      asked = PAGE_SIZE;
      goOnAt(nextPageToken);
    },
    async readOlder(signal) {
      if (older !== undefined) older = (await read(older, signal, { onlyKnown: true })).next;
    },
    async loadMore() {
      if (nextToken === undefined || nextToken === "") return;
      // What is between it and the rows before may be loaded already, and more.
      const { nextPageToken } = await read({ token: nextToken, after: undefined }, undefined, { ranged: false });
      asked += PAGE_SIZE;
      goOnAt(nextPageToken);
    },
  };
}
