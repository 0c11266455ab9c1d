import * as net from "node:net";

/** What happens to one connection. Bytes are counted from the server to the client. */
export interface Fate {
  /** Each piece is passed on this much later, in both directions. Default 0. */
  readonly delayMs?: number;
  /** After this many bytes the connection ends as `ending` says. Default: never. */
  readonly afterBytes?: number;
  /** `reset` cuts both sides; `close` ends them orderly; `half-open` passes nothing on any more and says nothing. */
  readonly ending?: "reset" | "close" | "half-open";
}

/** A TCP proxy in front of a server that does to connections what a network does. */
export interface Proxy {
  readonly port: number;
  /** How many connections came to their end. */
  readonly ended: () => number;
  /** How many connections there were. */
  readonly accepted: () => number;
  /** Cuts every open connection now. */
  cutAll(): void;
  /** Refuses connections until `up`. */
  down(): void;
  up(): void;
  close(): Promise<void>;
}

/** Opens the proxy on a free port. `fate` decides about each connection, numbered from 0. */
export async function openProxy(targetPort: number, fate: (connection: number) => Fate): Promise<Proxy> {
  const pairs = new Set<readonly [net.Socket, net.Socket]>();
  let accepted = 0;
  let ended = 0;
  let refusing = false;

  const server = net.createServer({ noDelay: true }, (client) => {
    if (refusing) {
      client.resetAndDestroy();
      return;
    }
    const decided = fate(accepted++);
    const upstream = net.connect({ port: targetPort, host: "127.0.0.1", noDelay: true });
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const forget = (): void => {
      pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    client.on("error", forget).on("close", forget);
    upstream.on("error", forget).on("close", forget);
    const end = (): void => {
      ended++;
      finish(pair, decided.ending ?? "reset");
    };
    pass(client, upstream, decided.delayMs ?? 0, Number.POSITIVE_INFINITY, end);
    pass(upstream, client, decided.delayMs ?? 0, decided.afterBytes ?? Number.POSITIVE_INFINITY, end);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as net.AddressInfo;
  return {
    port,
    ended: () => ended,
    accepted: () => accepted,
    cutAll() {
      for (const pair of [...pairs]) finish(pair, "reset");
    },
    down() {
      refusing = true;
    },
    up() {
      refusing = false;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const pair of [...pairs]) finish(pair, "reset");
      await closed;
    },
  };
}

/** Passes up to `limit` bytes on, each piece `delayMs` late and in order, and no faster than they are taken. */
function pass(from: net.Socket, to: net.Socket, delayMs: number, limit: number, end: () => void): void {
  let left = limit;
  const write = (piece: Buffer): void => {
    if (to.destroyed || !to.writable) return;
    if (!to.write(piece)) {
      from.pause();
      to.once("drain", () => from.resume());
    }
  };
  from.on("data", (piece: Buffer) => {
    if (left <= 0) return;
    const passed = piece.subarray(0, Math.min(left, piece.length));
    left -= piece.length;
    const done = left <= 0 ? end : undefined;
    later(delayMs, () => {
      write(passed);
      done?.();
    });
  });
  from.on("end", () => later(delayMs, () => to.end()));
}

function later(delayMs: number, run: () => void): void {
  if (delayMs === 0) run();
  else setTimeout(run, delayMs);
}

function finish([client, upstream]: readonly [net.Socket, net.Socket], ending: NonNullable<Fate["ending"]>): void {
  if (ending === "reset") {
    client.resetAndDestroy();
    upstream.destroy();
  } else if (ending === "close") {
    client.end();
    upstream.end();
  } else {
    // Both sides stay connected to the proxy, which reads and drops; the client does not hear of the server's end either.
    upstream.removeAllListeners("close");
    for (const socket of [client, upstream]) socket.removeAllListeners("data").removeAllListeners("end").resume();
  }
}

/** Numbers from 0 to below 1 that are the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
