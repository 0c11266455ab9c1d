import type { HandlerContext } from "@connectrpc/connect";
import type {
  ListEventsRequest,
  ListEventsResponse,
  WatchEventsRequest,
  WatchEventsResponse,
} from "../../gen/ts/harnessruntime/v1/event_stream_pb.js";
import { LogBatch } from "../core/log-batch.js";
import { toPageSize } from "../core/paging.js";
import type { Runtime, WatchBatch, Watcher, WatchPace } from "../core/runtime.js";
import { callerOf, readsJson } from "./call.js";
import { type Drain, resumeAfter, serverDraining } from "./drain.js";
import { isLarge, listMessage, watchFrame, watchMessage } from "./event-frames.js";
import type { OpenSideDoor, SideDoor } from "./side-door.js";

/** WatchEvents: the first frame at once, then stored bytes as they are, until the last batch. */
export async function* watchEvents(
  runtime: Runtime,
  request: WatchEventsRequest,
  context: HandlerContext,
  openDoor: OpenSideDoor,
  drain: Drain,
): AsyncGenerator<WatchEventsResponse> {
  const { executionId, afterSequence, eventTypes, maxBatch, follow = true } = request;
  const watcher = await runtime.watchEvents(callerOf(context), {
    executionId,
    afterSequence,
    eventTypes,
    maxBatch,
    follow,
    pace: paceOf(context),
  });
  let door: SideDoor | undefined;
  const forget = drain.onBegin(() => {
    watcher.close();
    door?.close();
  });
  try {
    const decode = readsJson(context);
    door = openDoor(context);
    let batch = await watcher.next(context.signal);
    if (batch !== undefined) yield* begin(batch, afterSequence, door, decode);
    while (batch?.last === false) {
      batch = await watcher.next(context.signal);
      if (batch === undefined) break;
      if (door === undefined) yield watchMessage(batch, decode);
      else await door.write(watchFrame(batch));
    }
    if (batch === undefined) throw interruption(watcher, context.signal, drain);
  } finally {
    forget();
    watcher.close();
  }
}

const KIB = 1024;

/**
 * How large the frames of a stream are: nobody knows before whether its reader
 * reads, and one that does not holds up a frame. As JSON a frame is decoded and
 * several times as large, so those stay small.
 */
const BINARY = { firstBytes: 80 * KIB, mostBytes: 320 * KIB };
const JSON_TEXT = { firstBytes: 40 * KIB, mostBytes: 40 * KIB };

/** Returns how large the frames of a stream of events are. */
export function paceOf(context: HandlerContext): WatchPace {
  return readsJson(context) ? JSON_TEXT : BINARY;
}

/** The first frame, which the RPC library sends and copies several times: so a large one follows an empty one. */
async function* begin(
  batch: WatchBatch,
  afterSequence: number,
  door: SideDoor | undefined,
  decode: boolean,
): AsyncGenerator<WatchEventsResponse> {
  if (door === undefined || !isLarge(batch)) {
    yield watchMessage(batch, decode);
    return;
  }
  yield watchMessage(new LogBatch([], afterSequence, batch.headSequence, batch.state, false), decode);
  await door.write(watchFrame(batch));
}

/** ListEvents: one page of stored bytes as they are. */
export async function listEvents(
  runtime: Runtime,
  request: ListEventsRequest,
  context: HandlerContext,
): Promise<ListEventsResponse> {
  const { executionId, afterSequence, eventTypes, pageSize } = request;
  const watcher = await runtime.watchEvents(callerOf(context), {
    executionId,
    afterSequence,
    eventTypes,
    maxBatch: toPageSize(pageSize),
    follow: false,
  });
  try {
    // Without a signal: it never waits, and a page is also read while the server goes away.
    let batch: WatchBatch | undefined;
    do {
      batch = await watcher.next();
      if (batch === undefined) throw serverDraining();
    } while (batch.parts.length === 0 && !batch.last);
    return listMessage(batch, readsJson(context));
  } finally {
    watcher.close();
  }
}

/** Why a stream ends before its last batch: the server goes away, or the caller did, or its deadline came. */
export function interruption(watcher: Watcher, signal: AbortSignal, drain: Drain): unknown {
  if (signal.aborted && !drain.begun) return signal.reason;
  return resumeAfter(watcher.afterSequence);
}
