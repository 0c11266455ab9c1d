import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";

/** Returns a time as `2026-09-02T10:00:00Z`; empty for none. */
export function timeText(time: Timestamp | undefined): string {
  return time === undefined ? "" : `${new Date(timestampMs(time)).toISOString().slice(0, 19)}Z`;
}

/** Returns how long it was from one time to another, such as `1.2 s`; empty where one is missing. */
export function spanText(from: Timestamp | undefined, to: Timestamp | undefined): string {
  if (from === undefined || to === undefined) return "";
  const spanMs = Math.max(0, timestampMs(to) - timestampMs(from));
  if (spanMs < 1_000) return `${spanMs} ms`;
  if (spanMs < 60_000) return `${(spanMs / 1_000).toFixed(1)} s`;
  const seconds = Math.round(spanMs / 1_000);
  return seconds < 3_600
    ? `${Math.floor(seconds / 60)} min ${seconds % 60} s`
    : `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}
