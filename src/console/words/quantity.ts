import { type Duration, durationMs, type Timestamp } from "@bufbuild/protobuf/wkt";
import type { Cost } from "../../../gen/ts/harnessruntime/v1/usage_pb.js";

const number = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** `12,345` */
export function count(value: number): string {
  return number.format(value);
}

/** `12.3K` */
export function shortCount(value: number): string {
  return compact.format(value);
}

/** `1 event`, `2 events` */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function timestampMs({ seconds, nanos }: Timestamp): number {
  return Number(seconds) * 1_000 + nanos / 1e6;
}

/** A length of time in its two largest units: `350 ms`, `4.2 s`, `3 min 5 s`, `2 d 4 h`. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return `${minutes} min ${seconds % 60} s`;
}

/** A length of time that still grows, in whole seconds: `0 s`, `59 s`, `1 min 4 s`. */
export function spanSoFar(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  return seconds < 60 ? `${seconds} s` : span(seconds * 1_000);
}

export function durationText(duration: Duration | undefined): string {
  return duration === undefined ? "" : span(durationMs(duration)).replace(".0 s", " s");
}

/** How long ago, coarsely: `now`, `12 s ago`, `3 min ago`, `in 5 min`. */
export function ago(ms: number, nowMs: number): string {
  const seconds = Math.round((nowMs - ms) / 1_000);
  const length = coarse(Math.abs(seconds));
  if (length === "") return "now";
  return seconds < 0 ? `in ${length}` : `${length} ago`;
}

function coarse(seconds: number): string {
  if (seconds < 2) return "";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** `1.5 MiB`, `256 KiB` */
export function bytes(size: number): string {
  const power = size < 1 ? 0 : Math.min(Math.floor(Math.log2(size) / 10), UNITS.length - 1);
  const value = size / 1024 ** power;
  return `${Number(value.toFixed(1))} ${UNITS[power]}`;
}

/** `0.0123 USD` */
export function money({ currency, micros }: Cost): string {
  return `${(Number(micros) / 1e6).toFixed(4)} ${currency}`;
}
