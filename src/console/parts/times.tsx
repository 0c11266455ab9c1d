import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { ago, span, timestampMs } from "../words/quantity.js";
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
  const endMs = to === undefined ? Math.floor(nowMs.value / 1_000) * 1_000 : timestampMs(to);
  return <span class="elapsed">{span(Math.max(0, endMs - timestampMs(from)))}</span>;
}
