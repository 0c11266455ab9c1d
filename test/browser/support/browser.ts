import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect } from "vitest";

/** Debian's own Chromium; `CHROMIUM` names another. */
const EXECUTABLE = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
/** Nothing that a test waits for takes longer. */
const LIMIT_MS = 10_000;

/** Starts Chromium. */
export async function openBrowser(): Promise<Browser> {
  return await chromium.launch({ executablePath: EXECUTABLE, args: ARGS });
}

/** A tab, and what went wrong in it. */
export interface Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Messages on the page's console that say something is wrong, and exceptions that nobody caught. */
  readonly complaints: readonly string[];
}

/** Opens a tab with a profile of its own, or, given a context, in that one. */
export async function openTab(
  browser: Browser,
  options: BrowserContextOptions & { readonly in?: BrowserContext } = {},
): Promise<Tab> {
  const { in: given, ...contextOptions } = options;
  const context = given ?? (await browser.newContext({ viewport: { width: 1280, height: 800 }, ...contextOptions }));
  context.setDefaultTimeout(LIMIT_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error.stack)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  return { page, context, complaints };
}

/** Keeps a picture of the page: an artefact of the build where there is one. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  const reports = process.env["CI_REPORTS"];
  if (reports === undefined) return;
  const folder = join(reports, "console");
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** Makes the page believe that it is hidden, or visible again, as a browser does for a tab behind another. */
export async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
}

/** Waits until an expectation holds of what the page says; fails with how it then stands. */
export async function eventually(check: () => Promise<void> | void): Promise<void> {
  await expect
    .poll(
      async () => {
        await check();
        return true;
      },
      { timeout: LIMIT_MS, interval: 20 },
    )
    .toBe(true);
}
