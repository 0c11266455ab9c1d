import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, openBrowser, openTab } from "./support/browser.js";
import { openSite, type Site } from "./support/site.js";

let browser: Browser;
let site: Site;

beforeAll(async () => {
  [browser, site] = await Promise.all([openBrowser(), openSite()]);
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
});

describe("the start form", () => {
  test("builds a configuration from the provider's schema", async () => {
    const { page, context, complaints } = await openTab(browser);
    await page.goto(`${site.url}/#/start`);
    await page.getByLabel("Input").fill("From a form");
    await page.getByText("Configuration", { exact: true }).click();
    await page.getByText("steps", { exact: true }).click();
    await page.getByRole("button", { name: "Add to steps" }).click();
    await page.getByLabel("Kind of steps 1").selectOption("text");
    await page.getByLabel("text", { exact: true }).fill("written by hand");
    await page.getByRole("button", { name: "Add to steps" }).click();
    await page.getByLabel("Kind of steps 2").selectOption("fail");
    await page.getByLabel("fail", { exact: true }).fill("on purpose");
    await page.getByText("More", { exact: true }).click();
    await page.getByLabel("Labels").fill("made=by hand");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByText("written by hand").first().waitFor();
    await page.getByText("on purpose").first().waitFor();
    const { executions } = await site.client.executions.listExecutions({ labels: { made: "by hand" } });
    expect(executions.map(({ input }) => input?.text)).toEqual(["From a form"]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("shows what the server refuses beside the configuration, and starts nothing", async () => {
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/start`);
    await page.getByText("Configuration", { exact: true }).click();
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    const steps = Array.from({ length: 40 }, () => ({ text: "la" }));
    const config = JSON.stringify({ steps: [...steps, { sing: "la" }] }, undefined, 2);
    await page.getByLabel("configuration as JSON").fill(config);
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.locator(".flaws").waitFor();
    // However long the form is, what is wrong with it is seen.
    await eventually(async () => {
      const { bottom } = (await page.locator(".flaws").evaluate((list) => list.getBoundingClientRect())) as DOMRect;
      const bar = await page.locator(".start-form > .buttons").boundingBox();
      expect(bottom).toBeLessThanOrEqual(bar?.y ?? 0);
    });
    expect(page.url()).toContain("#/start");
    await context.close();
  });

  test("starts nothing while the JSON in it cannot be read, instead of what was there before", async () => {
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/start`);
    await page.getByRole("button", { name: "Echo" }).click();
    await page.getByText("Configuration", { exact: true }).click();
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    const json = page.getByLabel("configuration as JSON");
    await json.fill('{ "steps": [');
    await page.getByText("Configuration", { exact: true }).click();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    // What is in the way is unfolded and has the focus.
    await json.and(page.locator(":focus")).waitFor();
    await page.getByLabel("Input").fill("Say it as JSON");
    await page.keyboard.press("Control+Enter");
    await json.and(page.locator(":focus")).waitFor();
    await json.fill('{ "final_output": "as written" }');
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByText("Complete", { exact: true }).waitFor();
    const { executions } = await site.client.executions.listExecutions({});
    const outputs = executions.flatMap(({ input, finalOutput }) =>
      input?.text === "Say it as JSON" ? finalOutput : [],
    );
    expect(outputs).toEqual(["as written"]);
    await context.close();
  });

  test("says that the provider it was opened for is not there, and which one it takes instead", async () => {
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/start?provider=gone-with-the-wind`);
    await page.getByRole("alert").getByText("has no provider gone-with-the-wind: Scripted is chosen instead").waitFor();
    await page.getByLabel("Provider").selectOption("scripted");
    await page.getByRole("alert").waitFor({ state: "detached" });
    await context.close();
  });

  test("says that there is no provider at all", async () => {
    const none = await openSite({ providers: [] });
    try {
      const { page, context } = await openTab(browser);
      await page.goto(`${none.url}/#/start`);
      await page.getByText("No provider is configured").waitFor();
      await context.close();
    } finally {
      await none.close();
    }
  });

  test("says why a provider takes no work", async () => {
    const away = await openSite({
      wrap: (runtime) =>
        new Proxy(runtime, {
          get(target, name) {
            const change = { available: false, unavailableReason: "not connected" };
            if (name === "listProviders") return () => target.listProviders().map((entry) => ({ ...entry, ...change }));
            const value: unknown = Reflect.get(target, name, target);
            return typeof value === "function" ? value.bind(target) : value;
          },
        }),
    });
    try {
      const { page, context } = await openTab(browser);
      await page.goto(`${away.url}/#/start`);
      await page.getByText("It takes no work now: not connected.").waitFor();
      await context.close();
    } finally {
      await away.close();
    }
  });
});
