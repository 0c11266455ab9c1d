import { batch, type ReadonlySignal, signal } from "@preact/signals";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { Event } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import type { WatchEventsResponse } from "../../../gen/ts/harnessruntime/v1/event_stream_pb.js";
import { type Execution, ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { type Cursor, isTerminal, nextStep } from "../../client/cursor.js";
import { toRpcError } from "../../client/errors.js";
import { client } from "../session.js";
import { createTimeline, type Timeline } from "../timeline/timeline.js";
import { createEventIntake } from "./event-intake.js";
import { keepLive, type Live } from "./live.js";
import { createReader } from "./reader.js";

/** One execution and its log, kept current. */
export interface FollowedExecution extends Live {
  readonly executionId: string;
  /** As last read: at the start, and after every event that changes more than the log. */
  readonly execution: ReadonlySignal<Execution | undefined>;
  /** The state at the log's head. */
  readonly state: ReadonlySignal<ExecutionState>;
  /** Every event that was shown, in order and with no gap. Grows; {@link shownSequence} tells. */
  readonly events: readonly Event[];
  /** The first sequence that the server still has: 1, unless the beginning of the log was trimmed. */
  readonly firstSequence: ReadonlySignal<number>;
  readonly shownSequence: ReadonlySignal<number>;
  /** The log's head: how much there is. */
  readonly headSequence: ReadonlySignal<number>;
  readonly timeline: Timeline;
  /** Shows the execution as a command returned it. */
  take(execution: Execution | undefined): void;
}

/** The most events in one frame: as many as are decoded without the page standing still. */
const MAX_BATCH = 2_000;

/** Follows an execution through its last event. Each event is shown once and in order, whatever becomes of the connection. */
export function followExecution(executionId: string): FollowedExecution {
  const execution = signal<Execution | undefined>(undefined);
  const state = signal(ExecutionState.UNSPECIFIED);
  const events: Event[] = [];
  const firstSequence = signal(1);
  const shownSequence = signal(0);
  const headSequence = signal(0);
  const timeline = createTimeline();
  let cursor: Cursor = { executionId, afterSequence: 0, filtered: false };

  const take = (read: Execution | undefined): void => {
    const known = execution.peek();
    if (read === undefined || (known !== undefined && known.lastSequence > read.lastSequence)) return;
    batch(() => {
      execution.value = read;
      if (read.lastSequence >= headSequence.peek()) state.value = read.state;
    });
  };
  const reader = createReader(async () => take((await client.executions.getExecution({ executionId })).execution));
  const intake = createEventIntake((slice) => {
    batch(() => {
      for (const event of slice) events.push(event);
      timeline.take(slice);
      shownSequence.value = slice.at(-1)?.sequence ?? shownSequence.peek();
    });
    if (slice.some(changesMore)) reader.read();
  });

  /** Takes a frame; returns whether it is the last. */
  const takeFrame = async (frame: WatchEventsResponse, signal: AbortSignal): Promise<boolean> => {
    // The server is there again, and may have no event that would say so.
    reader.makeUp();
    const step = nextStep(cursor, frame);
    cursor = step.cursor;
    batch(() => {
      headSequence.value = Math.max(headSequence.value, frame.headSequence);
      state.value = frame.state;
    });
    await intake.push(step.events, signal);
    if (step.ended) reader.read();
    return step.ended;
  };
  /** Goes to the first event there is, where those before it are no longer kept. */
  const skipTrimmed = (error: unknown): void => {
    const { reason, metadata } = toRpcError(error);
    const first = Number(metadata["first_sequence"]);
    if (reason !== ErrorReason.CURSOR_EXPIRED || events.length > 0 || !(first > cursor.afterSequence + 1)) throw error;
    firstSequence.value = first;
    cursor = { ...cursor, afterSequence: first - 1 };
  };
  const readFrames = async (follow: boolean, signal: AbortSignal, heard: () => void): Promise<boolean> => {
    try {
      return await readFramesOnce(follow, signal, heard);
    } catch (error) {
      skipTrimmed(error);
      return await readFramesOnce(follow, signal, heard);
    }
  };
  const readFramesOnce = async (follow: boolean, signal: AbortSignal, heard: () => void): Promise<boolean> => {
    const { afterSequence } = cursor;
    const request = { executionId, afterSequence, follow, maxBatch: MAX_BATCH };
    for await (const frame of client.executions.watchEvents(request, { signal })) {
      heard();
      if (await takeFrame(frame, signal)) return true;
      signal.throwIfAborted();
    }
    return isTerminal(state.peek()) && cursor.afterSequence === headSequence.peek();
  };

  reader.read();
  const live = keepLive({
    stream: (signal, heard) => readFrames(true, signal, heard),
    poll: (signal) => readFrames(false, signal, () => undefined),
  });
  return {
    ...live,
    executionId,
    execution,
    state,
    events,
    firstSequence,
    shownSequence,
    headSequence,
    timeline,
    take,
    close() {
      live.close();
      intake.close();
      reader.close();
    },
  };
}

/** Text and reasoning grow the log only; all else may change what the execution says of itself. */
function changesMore({ payload }: Event): boolean {
  return payload.case !== "outputTextDelta" && payload.case !== "outputReasoningDelta";
}
