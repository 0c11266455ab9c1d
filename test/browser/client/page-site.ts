import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { build } from "vite";
import { openBrowser, openTab } from "../support/browser.js";

/** A page in a real browser, from an origin of its own. */
export interface OpenPage {
  readonly page: Page;
  readonly origin: string;
  close(): Promise<void>;
}

/** Bundles an entry for browsers and opens a page that has loaded it. */
export async function openPage(entry: string): Promise<OpenPage> {
  const script = await bundle(entry);
  const site = createServer((request, response) => {
    const isScript = request.url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(
      isScript ? script : `<!doctype html><title>page</title><script type="module" src="/page.js"></script>`,
    );
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const browser = await openBrowser();
  const { page } = await openTab(browser);
  await page.goto(origin, { waitUntil: "load" });
  return {
    page,
    origin,
    async close() {
      await browser.close();
      site.closeAllConnections();
      await new Promise((resolve) => site.close(resolve));
    },
  };
}

async function bundle(entry: string): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: "warn",
    build: { write: false, minify: false, rollupOptions: { input: entry, output: { format: "es" } } },
  });
  const [output] = Array.isArray(built) ? built : [built];
  if (output === undefined || !("output" in output)) throw new Error("vite did not build");
  const chunks = output.output.filter((file) => file.type === "chunk");
  if (chunks.length !== 1) throw new Error(`expected one chunk, built ${chunks.length}`);
  return chunks[0]?.code ?? "";
}
