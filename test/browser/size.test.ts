import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Browser, CDPSession, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { keepPicture, openBrowser, openTab } from "./support/browser.js";
import { startScript, untilState } from "./support/scripts.js";
import { openSite, type Site } from "./support/site.js";

const EVENTS = 100_000;
const FRAMES = 120;

let browser: Browser;
let site: Site;
let large: string;

beforeAll(async () => {
  [browser, site] = await Promise.all([openBrowser(), openSite()]);
  large = await startScript(site, "A long story", [{ flood: { count: EVENTS, bytes: 40 } }]);
  await untilState(site, large, ExecutionState.SUCCEEDED);
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
});

test("all that the browser loads is less than 120 kB, compressed", () => {
  const folder = inject("consoleFolder");
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const sizes = names.map(
    ({ parentPath, name }) => gzipSync(readFileSync(join(parentPath, name)), { level: 9 }).length,
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(120_000);
});

test("the first page is there within a second, of which its own work is less than half", async () => {
  const times: number[] = [];
  const work: number[] = [];
  // The machine may be busy with other things: the best of some rounds is what the page takes.
  for (let round = 0; round < 5; round++) {
    const { page, context } = await openTab(browser);
    const session = await context.newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    await page.goto(site.url, { waitUntil: "commit" });
    await page.getByText("A long story").waitFor();
    times.push(await page.evaluate(() => performance.now()));
    work.push(await busyMs(session));
    await context.close();
  }
  expect(Math.min(...work)).toBeLessThan(500);
  expect(Math.min(...times)).toBeLessThan(1_000 * crowding());
}, 60_000);

test("until its code has come, the page says that it loads", async () => {
  const { page, context } = await openTab(browser);
  await page.route("**/*.js", async (route) => {
    await page.getByText("Loading…").waitFor();
    await route.continue();
  });
  await page.goto(site.url);
  await page.getByText("A long story").waitFor();
  await context.close();
});

/** How many times as long as on an idle machine everything takes: at least once. */
function crowding(): number {
  return Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
}

/** The main thread's own time, in milliseconds, whatever else the machine does. */
async function busyMs(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return 1_000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN);
}

/** Scrolls almost a screen up with every frame; returns the most rows that there were at once, and where it ended. */
async function scrollUp(page: Page): Promise<{ readonly most: number; readonly top: number }> {
  return await page.evaluate(async (frames) => {
    const scroller = document.querySelector<HTMLElement>(".execution-main .scroller");
    if (scroller === null) throw new Error("nothing scrolls");
    let most = 0;
    for (let frame = 0; frame < frames; frame++) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      scroller.scrollTop -= 700;
      most = Math.max(most, scroller.querySelectorAll("li").length);
    }
    return { most, top: scroller.scrollTop };
  }, FRAMES);
}

describe("an execution of 100,000 events", () => {
  test.each(["timeline", "events"])(
    "is shown whole in its %s, which scrolls within the time of a frame",
    async (tab) => {
      const { page, context, complaints } = await openTab(browser);
      const session = await context.newCDPSession(page);
      await session.send("Performance.enable", { timeDomain: "threadTicks" });
      await page.goto(`${site.url}/#/executions/${large}?tab=${tab}`);
      const { execution } = await site.client.executions.getExecution({ executionId: large });
      await page.locator(`.progress[data-shown="${execution?.lastSequence}"]`).waitFor({ timeout: 30_000 });
      await keepPicture(page, `large-${tab}`);
      const perFrameMs: number[] = [];
      for (let pass = 0; pass < 2; pass++) {
        const before = await busyMs(session);
        const { most, top } = await scrollUp(page);
        perFrameMs.push(((await busyMs(session)) - before) / FRAMES);
        expect(most).toBeLessThan(150);
        expect(top).toBeGreaterThan(0);
      }
      // The thread's own time, to which others on the same cores add through the caches.
      expect(Math.min(...perFrameMs)).toBeLessThan(16 * Math.min(2, crowding()));
      expect(complaints).toEqual([]);
      await context.close();
    },
    60_000,
  );

  test("can be entered at any sequence, and left at its end", async () => {
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/executions/${large}?tab=events&sequence=54321`);
    await page
      .getByRole("region", { name: "Event 54321" })
      .locator(".value", { hasText: "54321" })
      .waitFor({ timeout: 30_000 });
    await page.locator(".event-row.current .sequence", { hasText: "54321" }).waitFor();
    await page.getByRole("link", { name: "Show it in the timeline" }).click();
    await page.getByRole("button", { name: "To the end" }).click();
    await page.locator(".note.good", { hasText: "Succeeded" }).waitFor();
    await context.close();
  }, 60_000);
});

test("text that streams moves nothing but its own end", async () => {
  const steps = [{ text: { text: "word ".repeat(400), pace_ms: 2 } }, { await_steer: true }];
  const { page, context } = await openTab(browser);
  const id = await startScript(site, "Stream", steps);
  await page.goto(`${site.url}/#/executions/${id}`);
  await page.locator(".row-text").first().waitFor();
  const shifts = await page.evaluate(async () => {
    let score = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) score += (entry as PerformanceEntry & { value: number }).value;
    }).observe({ type: "layout-shift" });
    const head = document.querySelector(".execution-head")?.getBoundingClientRect();
    const row = document.querySelector(".row-input");
    while (document.querySelector(".progress")?.getAttribute("data-shown") !== "403") {
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    const after = document.querySelector(".execution-head")?.getBoundingClientRect();
    return { score, moved: head?.height !== after?.height, kept: row?.isConnected };
  });
  expect(shifts).toMatchObject({ moved: false, kept: true });
  expect(shifts.score).toBeLessThan(0.001);
  await context.close();
}, 30_000);

test("who wants less motion gets none", async () => {
  const { page, context } = await openTab(browser, { reducedMotion: "reduce" });
  const id = await startScript(site, "Spin", [{ await_steer: true }]);
  await page.goto(`${site.url}/#/executions/${id}`);
  const spinner = page.locator(".spinner").first();
  await spinner.waitFor();
  expect(await spinner.evaluate((element) => getComputedStyle(element).animationDuration)).toBe("0s");
  await context.close();
});

test("text from right to left runs so, beside text that does not, and emoji stay whole", async () => {
  const family = "👩‍👩‍👧‍👦";
  const { page, context } = await openTab(browser);
  const id = await startScript(site, "راجع هذا 🎉", [{ text: `تم العمل ${family}\nand then in English` }]);
  await page.goto(`${site.url}/#/executions/${id}`);
  await page.getByText("Complete", { exact: true }).waitFor();
  const text = page.locator(".row-text .prose");
  expect(await text.textContent()).toContain(family);
  expect(await text.evaluate((element) => getComputedStyle(element).direction)).toBe("rtl");
  expect(await page.locator("h1").evaluate((element) => getComputedStyle(element).direction)).toBe("rtl");
  await page.goto(`${site.url}/#/executions`);
  await page.getByText("راجع هذا 🎉").first().waitFor();
  await keepPicture(page, "right-to-left");
  await context.close();
});
