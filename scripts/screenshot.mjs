// @ts-check
// usage: node scripts/screenshot.mjs      takes docs/images/console.png anew, of the console at work
// Needs Chromium (CHROMIUM, or /usr/bin/chromium) and, for the picture as it is, the fonts Inter and Noto Color Emoji.
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { buildIfStale } from "./build.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const SIZE = { width: 1200, height: 750 };

buildIfStale(root);
const built = (/** @type {string} */ path) => import(join(root, "dist/src", path));
const { openRuntime } = await built("core/open-runtime.js");
const { openMemoryStore } = await built("store/memory.js");
const { scriptedProvider } = await built("providers/scripted/scripted.js");
const { startServer } = await built("server/server.js");
const { openConsole } = await built("server/console-files.js");

const store = openMemoryStore();
const runtime = await openRuntime({ store, providers: [scriptedProvider()] });
const server = await startServer({ runtime, port: 0, pages: openConsole(join(root, "dist/console")) });
const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
});
try {
  const page = await browser.newPage({ viewport: SIZE, colorScheme: "light" });
  await page.goto(`${server.url}/#/start`);
  await page.getByRole("button", { name: "Approve and steer" }).click();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("heading", { name: "Delete 3 old logs?" }).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.locator(".place .count").waitFor();
  const images = join(root, "docs/images");
  mkdirSync(images, { recursive: true });
  await page.screenshot({ path: join(images, "console.png") });
} finally {
  await browser.close();
  await server.close(0);
  await runtime.close(0);
  await store.close();
}
