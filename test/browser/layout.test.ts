import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { keepPicture, openBrowser, openTab } from "./support/browser.js";
import { startScript, untilState } from "./support/scripts.js";
import { openSite, type Site } from "./support/site.js";

/** More to decide by than a small screen holds. */
const LONG_APPROVAL = {
  approval: {
    title: "May I run the migration?",
    description: "It adds a column and fills it, which takes about six minutes.",
    payload: { statement: "UPDATE invoices SET total = 0;\n".repeat(40), tables: ["invoices", "lines"] },
    if_denied: "continue",
  },
};

let browser: Browser;
let site: Site;
let waiting: string;

beforeAll(async () => {
  [browser, site] = await Promise.all([openBrowser(), openSite()]);
  waiting = await startScript(site, "Migrate", [{ text: "All is ready.\n" }, LONG_APPROVAL]);
  await untilState(site, waiting, ExecutionState.AWAITING_APPROVAL);
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
});

/** Whether the whole of an element is on the screen, and nothing lies over its middle. */
async function isInSight(element: Locator): Promise<boolean> {
  return await element.evaluate((node) => {
    const { left, top, right, bottom } = node.getBoundingClientRect();
    if (left < 0 || top < 0 || right > innerWidth || bottom > innerHeight) return false;
    return node.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
  });
}

const SCREENS = [
  { screen: "a desktop", viewport: { width: 1280, height: 800 } },
  { screen: "a desktop at 200 %", viewport: { width: 640, height: 400 } },
  { screen: "a phone", viewport: { width: 390, height: 844 } },
  { screen: "a phone that is written on", viewport: { width: 390, height: 480 } },
] as const;

describe.each(SCREENS)("on the screen of $screen", ({ screen, viewport }) => {
  const controls = (page: Page, names: readonly string[]) =>
    names.map((name) => page.getByRole("button", { name, exact: true }));

  test("what is asked and the answers to it are in sight, beside the timeline and beside the log", async () => {
    const { page, context } = await openTab(browser, { viewport });
    await page.goto(`${site.url}/#/executions/${waiting}`);
    const title = page.getByRole("heading", { name: "May I run the migration?" });
    await title.waitFor();
    await keepPicture(page, `asked-${screen.replaceAll(/\W+/g, "-")}`);
    const answers = [/^Approve/, /^Deny/].map((name) => page.getByRole("button", { name }));
    for (const shown of [title, ...answers, ...controls(page, ["Send", "Steer"])]) {
      expect(await isInSight(shown), String(shown)).toBe(true);
    }
    await page.goto(`${site.url}/#/executions/${waiting}?tab=events&sequence=2`);
    const event = page.locator(".event-row.current");
    await event.waitFor();
    const log = [event, page.getByRole("heading", { name: "Event 2" }), page.getByRole("link", { name: "May I run" })];
    for (const shown of [...log, ...answers]) expect(await isInSight(shown), String(shown)).toBe(true);
    await context.close();
  });

  test("the form to start an execution keeps its button in sight", async () => {
    const { page, context } = await openTab(browser, { viewport });
    await page.goto(`${site.url}/#/start`);
    await page.getByRole("button", { name: "Approve and steer" }).click();
    const [start] = controls(page, ["Start"]);
    if (start === undefined) throw new Error("no button");
    await page.getByLabel("Input", { exact: true }).evaluate((element) => element.scrollIntoView());
    expect(await isInSight(start)).toBe(true);
    await context.close();
  });
});

test("a log is led to its end only where the end is out of sight", async () => {
  const short = await startScript(site, "Short", [{ text: "a" }]);
  const long = await startScript(site, "Long", [{ flood: { count: 400, bytes: 10 } }]);
  await untilState(site, long, ExecutionState.SUCCEEDED);
  const { page, context } = await openTab(browser);
  // What had not come yet when the event was shown is new below it.
  const toEnd = page.getByRole("button", { name: /^(To the end|New below)$/ });
  await page.goto(`${site.url}/#/executions/${long}?tab=events&sequence=5`);
  await page.getByRole("region", { name: "Event 5" }).waitFor();
  await toEnd.click();
  await toEnd.waitFor({ state: "detached" });
  await page.goto(`${site.url}/#/executions/${short}?tab=events&sequence=2`);
  await page.getByRole("region", { name: "Event 2" }).waitFor();
  await page.getByRole("button", { name: /run\.completed/ }).waitFor();
  expect(await toEnd.count()).toBe(0);
  await context.close();
});

test("beside the log an action is a line that leads to the whole of it, and `i` to where one writes", async () => {
  const { page, context } = await openTab(browser);
  const box = page.getByRole("textbox", { name: "Steer this execution" });
  await page.goto(`${site.url}/#/executions/${waiting}?tab=events`);
  await page.getByRole("link", { name: "May I run the migration?" }).click();
  await page.getByRole("heading", { name: "May I run the migration?" }).waitFor();
  await page.keyboard.press("2");
  await page.getByRole("region", { name: "Events" }).waitFor();
  expect(await box.count()).toBe(0);
  await page.keyboard.press("i");
  await box.and(page.locator(":focus")).waitFor();
  await context.close();
});

test("the theme is chosen in the runtime's view as well, and kept", async () => {
  const { page, context } = await openTab(browser, { colorScheme: "light", viewport: { width: 390, height: 844 } });
  const scheme = () => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
  await page.goto(`${site.url}/#/runtime`);
  await page.getByRole("button", { name: "Dark" }).click();
  expect(await scheme()).toBe("dark");
  await page.reload();
  await page.locator('[data-theme="dark"]').waitFor();
  await page.getByRole("button", { name: "As the system" }).click();
  expect(await scheme()).toBe("light dark");
  await context.close();
});

test("only what can be done is among the commands", async () => {
  const { page, context } = await openTab(browser);
  await page.goto(`${site.url}/#/runtime`);
  await page.getByRole("heading", { name: "Runtime" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: "Show the keys" }).waitFor();
  expect(await page.getByRole("option", { name: "Forget the token" }).count()).toBe(0);
  await context.close();
});
