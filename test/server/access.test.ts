import * as http from "node:http";
import { describe, expect, test } from "vitest";
import { type AccessOptions, createAccessPolicy, type RequestSource } from "../../src/server/access.js";
import { startServer } from "../../src/server/server.js";
import { createFakeRuntime } from "./support/fake-runtime.js";
import { serve } from "./support/serve.js";

const LOCAL: AccessOptions = { authenticated: false, host: "127.0.0.1", allowedHosts: [], corsOrigins: [] };
const SOURCE: RequestSource = { authority: "127.0.0.1:1", encrypted: false, origin: undefined, fetchSite: undefined };

describe("access by names", () => {
  test.each([
    ["127.0.0.1:4310", true],
    ["localhost:4310", true],
    ["LOCALHOST", true],
    ["app.localhost", true],
    ["[::1]:4310", true],
    ["192.168.7.9:4310", true],
    ["evil.example", false],
    ["evil.example:4310", false],
    ["127.0.0.1.evil.example", false],
    ["localhost.evil.example", false],
    ["", false],
    [undefined, false],
  ])("W05 a request to the host %j is let in: %j", (authority, allowed) => {
    expect(createAccessPolicy(LOCAL).refuseHost({ ...SOURCE, authority }) === undefined).toBe(allowed);
  });

  test("a given name is let in, and with authentication on a public address any name", () => {
    const named = createAccessPolicy({ ...LOCAL, allowedHosts: ["Agents.example"] });
    expect(named.refuseHost({ ...SOURCE, authority: "agents.example:80" })).toBeUndefined();
    expect(named.refuseHost({ ...SOURCE, authority: "other.example" })).toContain("allowed_hosts");
    const open = createAccessPolicy({ ...LOCAL, host: "0.0.0.0", authenticated: true });
    expect(open.refuseHost({ ...SOURCE, authority: "other.example" })).toBeUndefined();
    const insecure = createAccessPolicy({ ...LOCAL, host: "0.0.0.0" });
    expect(insecure.refuseHost({ ...SOURCE, authority: "other.example" })).toBeDefined();
  });

  test.each([
    ["https://evil.example", undefined, false],
    ["null", undefined, false],
    ["http://127.0.0.1:2", undefined, false],
    ["https://127.0.0.1:1", undefined, false],
    ["http://127.0.0.1:1", "same-origin", true],
    ["https://app.example", "cross-site", true],
    [undefined, undefined, true],
    [undefined, "none", true],
    [undefined, "cross-site", false],
    [undefined, "same-site", false],
  ])("W05 a page of the origin %j (fetch site %j) may call: %j", (origin, fetchSite, allowed) => {
    const policy = createAccessPolicy({ ...LOCAL, corsOrigins: ["https://app.example"] });
    expect(policy.refuseOrigin({ ...SOURCE, origin, fetchSite }) === undefined).toBe(allowed);
  });

  test("every origin is not for a server without authentication", () => {
    expect(() => createAccessPolicy({ ...LOCAL, corsOrigins: ["*"] })).toThrow("authentication");
    expect(createAccessPolicy({ ...LOCAL, authenticated: true, corsOrigins: ["*"] }).allowsCors("https://x")).toBe(
      true,
    );
  });
});

describe("a server", () => {
  test.each(["0.0.0.0", "::", "192.0.2.1", "example.org"])(
    "does not bind to %s without authentication unless told to",
    async (host) => {
      const { runtime } = createFakeRuntime();
      await expect(startServer({ runtime, host, port: 0 })).rejects.toThrow("authentication");
    },
  );

  test("binds to every address where allowed to, and answers by IP address", async () => {
    const { server } = await serve({ host: "0.0.0.0", allowInsecure: true });
    expect((await call(server.port, {})).code).toBe(200);
  });

  test("W05 refuses a foreign host and a foreign origin in the caller's protocol, before anything is done", async () => {
    const { server, fake } = await serve();
    for (const fields of [{ host: "evil.example" }, { origin: "https://evil.example" }]) {
      const connect = await call(server.port, fields);
      expect(connect).toMatchObject({ code: 403, body: { code: "permission_denied" } });
      const grpcWeb = await call(server.port, { ...fields, "content-type": "application/grpc-web+proto" });
      expect(grpcWeb.code).toBe(200);
      expect(grpcWeb.text).toContain("grpc-status: 7");
    }
    expect(fake.calls).toEqual([]);
  });

  test("answers a preflight of a listed origin, and lets its pages read responses", async () => {
    const { server } = await serve({ corsOrigins: ["https://app.example"] });
    const origin = "https://app.example";
    const preflight = await call(server.port, { origin, "access-control-request-method": "POST" }, "OPTIONS");
    expect(preflight.code).toBe(204);
    expect(preflight.fields["access-control-allow-origin"]).toBe(origin);
    expect(preflight.fields["access-control-allow-headers"]).toContain("Authorization");
    const response = await call(server.port, { origin });
    expect(response).toMatchObject({ code: 200, fields: { "access-control-allow-origin": origin, vary: "origin" } });
    expect(response.fields["access-control-expose-headers"]).toContain("Grpc-Status-Details-Bin");
    const foreign = await call(server.port, { origin: "https://evil.example" }, "OPTIONS");
    expect(foreign.code).toBe(403);
    expect(foreign.fields["access-control-allow-origin"]).toBeUndefined();
  });

  test("serves pages beside RPCs, to safe hosts alone", async () => {
    const pages = (_: unknown, response: { end(text: string): unknown }): boolean => {
      response.end("<!doctype html>");
      return true;
    };
    const { server } = await serve({ pages });
    expect((await call(server.port, {}, "GET", "/")).text).toBe("<!doctype html>");
    expect((await call(server.port, { host: "evil.example" }, "GET", "/")).code).toBe(403);
    const without = await serve();
    expect((await call(without.server.port, {}, "GET", "/")).code).toBe(404);
  });
});

interface Answer {
  readonly code: number | undefined;
  readonly fields: http.IncomingHttpHeaders;
  readonly text: string;
  readonly body: unknown;
}

/** A plain HTTP/1.1 request, which may say anything of itself. */
async function call(
  port: number,
  fields: http.OutgoingHttpHeaders,
  method = "POST",
  path = "/harnessruntime.v1.RuntimeService/DescribeRuntime",
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", ...fields };
    const request = http.request({ port, host: "127.0.0.1", method, path, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => {
        const json = response.headers["content-type"] === "application/json";
        resolve({ code: response.statusCode, fields: response.headers, text, body: json ? JSON.parse(text) : text });
      });
    });
    request.on("error", reject);
    request.end(method === "POST" ? "{}" : undefined);
  });
}
