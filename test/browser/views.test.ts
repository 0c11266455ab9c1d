import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { keepPicture, openBrowser, openTab, type Tab } from "./support/browser.js";
import { APPROVAL, startScript, untilState } from "./support/scripts.js";
import { openSite, type Site } from "./support/site.js";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

let browser: Browser;
let site: Site;
let waiting: string;
let asking: string;

beforeAll(async () => {
  [browser, site] = await Promise.all([openBrowser(), openSite()]);
  await startScript(site, "Summarise the incident", [{ text: "The cache ran full; a restart freed it." }], {
    labels: { team: "ops" },
  });
  await startScript(site, "Deploy the docs", [{ fail: "the build server refused" }]);
  await startScript(site, "راجع مستودع الكود 🎉", [{ text: "تم. 👩‍👩‍👧‍👦" }]);
  waiting = await startScript(site, "Tidy up", [
    { reasoning: "Old logs take room." },
    { tool_call: { name: "list_files", input: { path: "." }, output: ["a.log"] } },
    { tool_call: { name: "rm", error: "no such file" } },
    { artifact: { name: "report.md", media_type: "text/markdown", uri: "file:///report.md" } },
    { usage: { total_tokens: 1_558 } },
    APPROVAL,
  ]);
  asking = await startScript(site, "Book a table", [
    { input: { title: "How many?", schema: { type: "object", properties: { guests: { type: "integer" } } } } },
  ]);
  await untilState(site, waiting, ExecutionState.AWAITING_APPROVAL);
  await untilState(site, asking, ExecutionState.AWAITING_INPUT);
  const { actions } = await site.client.actions.listActions({ executionId: waiting });
  expect(actions).toHaveLength(1);
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
});

interface View {
  readonly name: string;
  readonly hash: () => string;
  /** What is there when it is whole. */
  readonly ready: (page: Page) => Promise<unknown>;
}

const text = (wanted: string) => (page: Page) => page.getByText(wanted).first().waitFor();

const VIEWS: readonly View[] = [
  { name: "executions", hash: () => "#/executions", ready: text("The cache ran full") },
  { name: "filtered executions", hash: () => "#/executions?state=failed", ready: text("the build server refused") },
  { name: "no executions", hash: () => "#/executions?labels=team%3Dnobody", ready: text("No execution matches.") },
  { name: "timeline", hash: () => `#/executions/${waiting}`, ready: (page) => page.locator(".action-card").waitFor() },
  { name: "events", hash: () => `#/executions/${waiting}?tab=events&sequence=4`, ready: text("Event 4") },
  { name: "details", hash: () => `#/executions/${waiting}?tab=details`, ready: text("report.md") },
  { name: "form", hash: () => `#/executions/${asking}`, ready: (page) => page.getByLabel("guests").waitFor() },
  { name: "inbox", hash: () => "#/inbox", ready: text("How many?") },
  { name: "closed actions", hash: () => "#/inbox?show=closed", ready: text("No action was ever closed.") },
  { name: "start", hash: () => "#/start", ready: text("Examples") },
  { name: "providers", hash: () => "#/providers", ready: text("input.steer") },
  { name: "runtime", hash: () => "#/runtime", ready: text("harnessruntime.v1.ExecutionService") },
];

interface Axe {
  run(options: { readonly runOnly: readonly string[] }): Promise<{
    readonly violations: readonly {
      readonly id: string;
      readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
    }[];
  }>;
}

/** What axe, which was put into the page, finds wrong: one line for each element. */
async function findings(page: Page): Promise<readonly string[]> {
  const { violations } = await page.evaluate(
    async (runOnly) => await (window as unknown as { readonly axe: Axe }).axe.run({ runOnly }),
    RULES,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`),
  );
}

describe.each([
  { look: "light", options: { colorScheme: "light" } },
  { look: "dark", options: { colorScheme: "dark" } },
  { look: "phone", options: { colorScheme: "light", viewport: { width: 390, height: 844 }, hasTouch: true } },
  // As narrow as text that is enlarged four times makes a screen: nothing may need to be scrolled sideways.
  { look: "enlarged", options: { colorScheme: "dark", viewport: { width: 320, height: 640 } } },
] as const)("in $look", ({ look, options }) => {
  let tab: Tab;

  beforeAll(async () => {
    tab = await openTab(browser, options);
    await tab.context.addInitScript({ content: axe });
    await tab.page.goto(site.url);
  });

  afterAll(async () => {
    await tab.context.close();
  });

  test.each(VIEWS)("the view of $name shows what there is and meets WCAG 2.2 AA", async ({ name, hash, ready }) => {
    const { page, complaints } = tab;
    await page.goto(`${site.url}/${hash()}`);
    await ready(page);
    await keepPicture(page, `${name.replaceAll(" ", "-")}-${look}`);
    expect(await findings(page)).toEqual([]);
    expect(await page.title()).toMatch(/^(\(2\) )?.+ · Harness$/);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    expect(complaints).toEqual([]);
  });

  test("the dialogs meet WCAG 2.2 AA", async () => {
    const { page } = tab;
    await page.goto(`${site.url}/#/executions/${waiting}`);
    await page.locator(".action-card").waitFor();
    for (const [keys, name] of [
      ["Control+k", "Commands"],
      ["?", "Keys"],
      ["d", "Deny “Delete 3 old logs?”?"],
      ["c", "Cancel this execution?"],
    ] as const) {
      await page.keyboard.press(keys);
      await page.getByRole("dialog", { name }).waitFor();
      expect(await findings(page), name).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
  });
});
