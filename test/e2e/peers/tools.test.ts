import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ScriptedServer, serveScripted } from "../../wire/scripted-server.js";

/** The folder with grpcurl and grpc-health-probe. */
const PEERS = process.env["HARNESS_TEST_PEERS"] ?? "";
const ROOT = resolve(import.meta.dirname, "../../..");
const BUF = join(ROOT, "node_modules/.bin/buf");
const START = JSON.stringify({ provider_id: "scripted", input: { text: "hello peers" } });
const SERVICE = "harnessruntime.v1.ExecutionService";

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(program: string, ...args: readonly string[]): Promise<Ran> {
  return await new Promise((done) => {
    execFile(program, args, { timeout: 15_000, cwd: ROOT, maxBuffer: 8 << 20 }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    );
  });
}

let server: ScriptedServer;
let host: string;
beforeAll(async () => {
  server = await serveScripted();
  host = `127.0.0.1:${server.port}`;
});
afterAll(async () => server?.close());

/** The id in the JSON of a StartExecution that was answered. */
function idOf(ran: Ran): string {
  expect(ran.stderr).toBe("");
  return (JSON.parse(ran.stdout) as { execution: { id: string } }).execution.id;
}

describe("W01 grpcurl, which knows no proto file,", () => {
  const grpcurl = (...args: readonly string[]) => run(join(PEERS, "grpcurl"), "-plaintext", ...args);

  test("lists and describes the services", async () => {
    const { stdout } = await grpcurl(host, "list");
    expect(stdout.split("\n")).toContain(SERVICE);
    expect((await grpcurl(host, "describe", `${SERVICE}.WatchEvents`)).stdout).toContain("returns ( stream");
  });

  test("starts an execution, watches it to its end, and shows why a call is refused", async () => {
    const id = idOf(await grpcurl("-d", START, host, `${SERVICE}/StartExecution`));
    const watched = await grpcurl("-d", JSON.stringify({ execution_id: id }), host, `${SERVICE}/WatchEvents`);
    expect(watched).toMatchObject({ code: 0, stderr: "" });
    expect(watched.stdout).toContain(`"finalOutput": "hello peers"`);
    const refused = await grpcurl("-d", '{"execution_id":"exe_missing"}', host, `${SERVICE}/GetExecution`);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/Code: NotFound[\s\S]*"id": "exe_missing"[\s\S]*"reason": "NOT_FOUND"/);
  });
});

test.each([
  ["the server", []],
  ["a service", ["-service", SERVICE]],
] as const)("W01 grpc-health-probe finds %s SERVING", async (_, args) => {
  const { code, stdout, stderr } = await run(join(PEERS, "grpc-health-probe"), "-addr", host, ...args);
  expect({ code, said: `${stdout}${stderr}` }).toMatchObject({ code: 0, said: expect.stringContaining("SERVING") });
});

test("W01 grpc-health-probe finds a server that drains NOT_SERVING", async () => {
  const draining = await serveScripted();
  await draining.server.drain();
  const ran = await run(join(PEERS, "grpc-health-probe"), "-addr", `127.0.0.1:${draining.port}`);
  await draining.close();
  expect(ran.code).not.toBe(0);
  expect(`${ran.stdout}${ran.stderr}`).toContain("NOT_SERVING");
});

describe.each(["connect", "grpc", "grpcweb"])("W01 buf curl by reflection, over %s,", (protocol) => {
  const curl = (method: string, data: string) => {
    const url = `http://${host}/${SERVICE}/${method}`;
    return run(BUF, "curl", "--protocol", protocol, "--http2-prior-knowledge", "-d", data, url);
  };

  test("starts an execution, watches it to its end, and shows why a call is refused", async () => {
    const id = idOf(await curl("StartExecution", START));
    const watched = await curl("WatchEvents", JSON.stringify({ execution_id: id }));
    expect(watched).toMatchObject({ code: 0, stderr: "" });
    expect(watched.stdout).toMatch(/"finalOutput":\s*"hello peers"/);
    const refused = await curl("GetExecution", '{"execution_id":"exe_missing"}');
    // buf ends with 8 × the number of the code, and NOT_FOUND is 5.
    expect(refused.code).toBe(40);
    expect(refused.stderr).toContain("google.rpc.ErrorInfo");
  });
});

describe.each([
  ["HTTP/1.1", []],
  ["HTTP/2", ["--http2-prior-knowledge"]],
] as const)("W01 curl over %s", (_, version) => {
  const curl = (...args: readonly string[]) => run("curl", "-sS", ...version, ...args);
  const json = ["-H", "content-type: application/json"];
  const url = (method: string) => `http://${host}/${SERVICE}/${method}`;

  test("posts JSON, gets what has no side effects, and is told why it is refused", async () => {
    const id = idOf(await curl(...json, "-d", START, url("StartExecution")));
    const query = `?connect=v1&encoding=json&message=${encodeURIComponent(JSON.stringify({ execution_id: id }))}`;
    expect((await curl(`${url("GetExecution")}${query}`)).stdout).toContain(`"id":"${id}"`);
    const refused = await curl("-w", "%{http_code}", ...json, "-d", "{}", url("StartExecution"));
    expect(refused.stdout).toMatch(/"code":"invalid_argument".*google\.rpc\.BadRequest.*400$/s);
  });

  test.each([
    ["Host", "host: evil.example"],
    ["Origin", "origin: http://evil.example"],
  ])("W05 with a foreign %s is refused", async (_name, header) => {
    const refused = await curl("-w", "%{http_code}", ...json, "-H", header, "-d", START, url("StartExecution"));
    expect(refused.stdout).toMatch(/"code":"permission_denied".*403$/s);
  });
});

/** Over HTTP/1.1 only: curl 7.88 loses a whole answer over HTTP/2 that comes, with a reset, before it has sent everything. */
test("W03 curl that sends more than 1 MiB is refused", async () => {
  const send = `head -c 2000000 /dev/zero | curl -sS -w '%{http_code}' -H 'content-type: application/json' --data-binary @-`;
  const { stdout } = await run("bash", "-c", `${send} http://${host}/${SERVICE}/StartExecution`);
  expect(stdout).toMatch(/"code":"resource_exhausted".*"reason":"REQUEST_TOO_LARGE".*429$/s);
});
