/** The longest timer there is in Node, in milliseconds (24.8 days); a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 0.001,
  n: 0.000_001,
};

/** Takes a deadline that is too far away for a timer out of a request's header: such a call has none. */
export function dropEndlessDeadline(header: Headers): void {
  const grpc = /^(\d+)([HMSmun])$/.exec(header.get("grpc-timeout") ?? "");
  if (grpc !== null && Number(grpc[1]) * (UNIT_MS[grpc[2] ?? ""] ?? 1) > LONGEST_TIMER_MS) {
    header.delete("grpc-timeout");
  }
  if (Number(header.get("connect-timeout-ms") ?? 0) > LONGEST_TIMER_MS) header.delete("connect-timeout-ms");
}
