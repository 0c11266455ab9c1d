import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import * as net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../support/processes.js";

/** Debian's nginx in front of a server, with its default timeouts and buffers. */
export interface Nginx {
  /** Speaks HTTP/2 and hands gRPC on as gRPC. */
  readonly grpcUrl: string;
  /** Speaks HTTP/1.1 and hands everything on as HTTP, as nginx does by default. */
  readonly httpUrl: string;
  close(): Promise<void>;
}

/** Starts nginx on two free ports. */
export async function startNginx(serverPort: number): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), "harness-nginx-"));
  for (const name of ["body", "proxy", "fastcgi", "uwsgi", "scgi"]) mkdirSync(join(folder, name));
  const [grpcPort, httpPort] = [await freePort(), await freePort()];
  writeFileSync(join(folder, "nginx.conf"), configuration(folder, grpcPort, httpPort, serverPort));
  const child = spawn("nginx", ["-e", "stderr", "-p", folder, "-c", join(folder, "nginx.conf")], { stdio: "inherit" });
  await until("nginx listens", () => answers(httpPort));
  return {
    grpcUrl: `http://127.0.0.1:${grpcPort}`,
    httpUrl: `http://127.0.0.1:${httpPort}`,
    async close() {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function configuration(folder: string, grpcPort: number, httpPort: number, serverPort: number): string {
  return `
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr warn;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  server {
    listen 127.0.0.1:${grpcPort} http2;
    location / { grpc_pass grpc://127.0.0.1:${serverPort}; }
  }
  server {
    listen 127.0.0.1:${httpPort};
    location / { proxy_pass http://127.0.0.1:${serverPort}; }
  }
}
`;
}

async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function answers(port: number): Promise<boolean> {
  const socket = net.connect(port, "127.0.0.1");
  const answered = new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  });
  return await answered.finally(() => socket.destroy());
}
