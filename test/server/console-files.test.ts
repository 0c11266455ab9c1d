import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openConsole } from "../../src/server/console-files.js";
import { serve } from "./support/serve.js";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "harness-console-"));
  mkdirSync(join(folder, "console/assets"), { recursive: true });
  writeFileSync(join(folder, "console/index.html"), "<!doctype html>the console");
  writeFileSync(join(folder, "console/assets/index-4f2a.js"), "let a = 1;");
  writeFileSync(join(folder, "console/assets/.env"), "SECRET=1");
  writeFileSync(join(folder, "secret.js"), "SECRET=1");
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

interface Answer {
  readonly code: number;
  readonly fields: NodeJS.Dict<string | string[]>;
  readonly body: Buffer;
}

/** Asks as written: no path is tidied up. */
async function ask(url: string, path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const request = get({ hostname, port, path, headers, method, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("end", () =>
        resolve({ code: response.statusCode ?? 0, fields: response.headers, body: Buffer.concat(parts) }),
      );
    });
    request.on("error", reject);
  });
}

async function open(): Promise<string> {
  return (await serve({ pages: openConsole(join(folder, "console")) })).url;
}

describe("the console's files", () => {
  test("are served with a policy that lets the page run nothing but itself", async () => {
    const url = await open();
    const { code, fields, body } = await ask(url, "/");
    expect([code, body.toString()]).toEqual([200, "<!doctype html>the console"]);
    expect(fields["content-security-policy"]).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(fields).toMatchObject({ "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" });
  });

  test("are kept for good where their name says what is in them, and asked for again where it does not", async () => {
    const url = await open();
    const script = await ask(url, "/assets/index-4f2a.js");
    expect(script.fields).toMatchObject({
      "cache-control": "public, max-age=31536000, immutable",
      "content-type": "text/javascript; charset=utf-8",
    });
    const page = await ask(url, "/?from=somewhere");
    expect(page.fields["cache-control"]).toBe("no-cache");
    const again = await ask(url, "/", { "if-none-match": String(page.fields["etag"]) });
    expect([again.code, again.body.length]).toEqual([304, 0]);
  });

  test("are compressed for who can read that, and not sent to who asks for the head", async () => {
    const url = await open();
    const zipped = await ask(url, "/", { "accept-encoding": "br, gzip" });
    expect(zipped.fields["content-encoding"]).toBe("gzip");
    expect(gunzipSync(zipped.body).toString()).toBe("<!doctype html>the console");
    const head = await ask(url, "/", {}, "HEAD");
    expect([head.code, head.body.length, head.fields["content-length"]]).toEqual([200, 0, "26"]);
  });

  test.each([
    "/secret.js",
    "/../secret.js",
    "/assets/../../secret.js",
    "/%2e%2e/secret.js",
    "/assets/.env",
    "/assets",
    "/nowhere",
    "//",
  ])("are all there is: %s is not found", async (path) => {
    const { code, body } = await ask(await open(), path);
    expect([code, body.includes("SECRET")]).toEqual([404, false]);
  });

  test("are read only: a POST to the page is not found", async () => {
    expect((await ask(await open(), "/", {}, "POST")).code).toBe(404);
  });

  test("must be there", () => {
    expect(() => openConsole(join(folder, "console/assets"))).toThrow("npm run build makes it");
  });
});
