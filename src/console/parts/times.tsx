import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { ago, span, spanSoFar, timestampMs } from "../words/quantity.js";
import { nowMs } from "./now.js";

/** A time as how long ago it was, with the whole of it on hover. */
export function Ago({ time }: { readonly time: Timestamp | undefined }) {
  if (time === undefined) return null;
  const date = new Date(timestampMs(time));
  return (
    <time class="ago" dateTime={date.toISOString()} title={date.toLocaleString()}>
      {ago(date.getTime(), nowMs.value)}
    </time>
  );
}

/** How long something took; up to now while it has no end. */
export function Elapsed({ from, to }: { readonly from: Timestamp | undefined; readonly to: Timestamp | undefined }) {
  if (from === undefined) return null;
  const ms = Math.max(0, (to === undefined ? nowMs.value : timestampMs(to)) - timestampMs(from));
  return <span class="elapsed">{to === undefined ? spanSoFar(ms) : span(ms)}</span>;
}
