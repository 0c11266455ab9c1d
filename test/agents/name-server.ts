import { createSocket } from "node:dgram";

/** A name server that knows no name and remembers every one that it is asked for. */
export interface NameServer {
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/** Listens where `offline.sh` has names asked. */
export async function startNameServer(): Promise<NameServer> {
  const asked: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, { port, address }) => {
    asked.push(nameIn(query));
    const answer = Buffer.from(query);
    // A response, recursion available, and "no such name".
    answer[2] = 0x81;
    answer[3] = 0x83;
    socket.send(answer, port, address);
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(53, "127.0.0.1", resolve);
  });
  return { asked, close: () => new Promise((resolve) => socket.close(() => resolve())) };
}

/** The question's name, after the header of 12 bytes: labels, each with its length before it. */
function nameIn(query: Buffer): string {
  const labels: string[] = [];
  for (let offset = 12, length = query[12] ?? 0; length > 0; length = query[offset] ?? 0) {
    labels.push(query.toString("latin1", offset + 1, offset + 1 + length));
    offset += 1 + length;
  }
  return labels.join(".");
}
