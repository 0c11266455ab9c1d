// What the server is measured against: a bare `node:http2` handler that sends the same bytes.
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { frameOf } from "../events.js";
import { play } from "../peer.js";

const HEADERS = { ":status": 200, "content-type": "application/grpc" };

const streams = new Set<http2.ServerHttp2Stream>();
let replay: readonly Uint8Array[] = [];
let unary: Buffer = Buffer.alloc(0);

async function send(stream: http2.ServerHttp2Stream, frames: readonly Uint8Array[]): Promise<void> {
  for (const frame of frames) {
    if (!stream.write(frame)) await new Promise((resolve) => stream.once("drain", resolve));
  }
}

play({
  async open() {
    const server = http2.createServer({ settings: { maxConcurrentStreams: 1_000 } });
    server.on("stream", (stream, headers) => {
      stream.on("error", () => undefined);
      const path = String(headers[":path"]);
      if (path.endsWith("Replay")) {
        stream.respond(HEADERS, { waitForTrailers: true });
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        void send(stream, replay).then(() => stream.end());
      } else if (path.endsWith("Unary")) {
        stream.resume();
        stream.on("end", () => {
          stream.respond(HEADERS, { waitForTrailers: true });
          stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
          stream.end(unary);
        });
      } else {
        stream.respond(HEADERS);
        stream.write(Buffer.alloc(5));
        streams.add(stream);
        stream.on("close", () => streams.delete(stream));
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  },
  /** Makes the frames that a call of `Replay` gets. */
  prepareReplay({ events, batch }: { events: number; batch: number }): void {
    replay = Array.from({ length: Math.ceil(events / batch) }, (_, index) => {
      return frameOf(index * batch + 1, Math.min(events, (index + 1) * batch));
    });
  },
  prepareUnary(base64: string): void {
    unary = Buffer.from(base64, "base64");
  },
  /** Sends to all streams that wait, and ends them. */
  async broadcast({ events, batch, everyMs }: { events: number; batch: number; everyMs: number }): Promise<void> {
    const began = performance.now();
    for (let sent = 0; sent < events; sent += batch) {
      const waitMs = began + (sent / batch) * everyMs - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      const frame = frameOf(sent + 1, sent + batch);
      for (const stream of streams) stream.write(frame);
    }
    for (const stream of streams) stream.end();
  },
});
