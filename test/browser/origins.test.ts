import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBrowser, openTab } from "./support/browser.js";
import { openSite, type Site } from "./support/site.js";

let browser: Browser;
let app: Server;
let appOrigin: string;
let script: string;
let site: Site;
let strict: Site;

beforeAll(async () => {
  const output = await build({
    configFile: false,
    logLevel: "warn",
    build: { write: false, lib: { entry: join(import.meta.dirname, "support/other-app.ts"), formats: ["es"] } },
  });
  const [bundle] = Array.isArray(output) ? output : [];
  const [chunk] = bundle?.output ?? [];
  if (chunk?.type !== "chunk") throw new Error("no script was built");
  script = chunk.code;
  app = createServer((request, response) => {
    const page = request.url?.startsWith("/app.js") !== true;
    response.setHeader("content-type", page ? "text/html" : "text/javascript");
    response.end(page ? '<!doctype html><script type="module" src="/app.js"></script><output></output>' : script);
  });
  await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
  appOrigin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
  [browser, site, strict] = await Promise.all([
    openBrowser(),
    openSite({ server: { corsOrigins: [appOrigin] } }),
    openSite(),
  ]);
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await Promise.all([site?.close(), strict?.close()]);
  app?.closeAllConnections();
  app?.close();
});

describe("a page of another origin", () => {
  test.each(["connect", "grpc-web"])("runs an execution over %s where the server lists it", async (protocol) => {
    const { page, context, complaints } = await openTab(browser);
    await page.goto(`${appOrigin}/?${new URLSearchParams({ server: site.url, protocol })}`);
    await page.locator("output", { hasText: "said: hello there" }).waitFor();
    expect(await page.locator("output").textContent()).toBe("said: hello there, then NOT_FOUND in detail");
    // The browser itself notes the 404 of the second call.
    expect(complaints.filter((text) => !text.includes("404"))).toEqual([]);
    await context.close();
  });

  test("is refused where the server does not list it", async () => {
    const { page, context } = await openTab(browser);
    await page.goto(`${appOrigin}/?${new URLSearchParams({ server: strict.url, protocol: "connect" })}`);
    await page.locator("output", { hasText: "refused" }).waitFor();
    const { executions } = await strict.client.executions.listExecutions({});
    expect(executions).toEqual([]);
    await context.close();
  });
});

describe("the console itself", () => {
  test("loads nothing from elsewhere, runs under its policy, and has its files kept for good", async () => {
    const { page, context, complaints } = await openTab(browser);
    const seen: { url: string; cache: string | undefined }[] = [];
    page.on("response", (response) => {
      seen.push({ url: response.url(), cache: response.headers()["cache-control"] });
    });
    const answer = await page.goto(strict.url);
    await page.getByText("Nothing has run here yet.").waitFor();
    const policy = answer?.headers()["content-security-policy"] ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe");
    expect(seen.filter(({ url }) => !url.startsWith(strict.url))).toEqual([]);
    const files = seen.filter(({ url }) => url.includes("/assets/"));
    expect(files.length).toBeGreaterThanOrEqual(2);
    expect(new Set(files.map(({ cache }) => cache))).toEqual(new Set(["public, max-age=31536000, immutable"]));
    expect(complaints).toEqual([]);
    await context.close();
  });
});
