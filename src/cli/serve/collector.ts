import { setFlagsFromString } from "node:v8";

/** V8 knows the flag from here on; an older one would complain of it. */
const SINCE_V8 = 13;

/**
 * Has V8 collect as the whole process's memory grows, buffers included. By
 * default it collects its whole heap for every few megabytes of buffers that come
 * from another thread, as a replay's events do from the file's: more than half of
 * what a replay costs (docs/performance.md).
 */
export function countBuffersWithHeap(): void {
  if (Number.parseInt(process.versions.v8, 10) >= SINCE_V8) {
    setFlagsFromString("--external-memory-accounted-in-global-limit");
  }
}
