import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { keepPicture, openBrowser, openTab } from "./support/browser.js";
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

describe("a newcomer", () => {
  test("starts an execution, approves, steers it and cancels another, with the mouse, in under a minute", async () => {
    const { page, complaints } = await openTab(browser);
    const began = performance.now();
    await page.goto(site.url);
    await page.getByText("Nothing has run here yet.").waitFor();
    await page.getByRole("link", { name: "Start an execution" }).click();
    await page.getByRole("button", { name: "Approve and steer" }).click();
    await page.getByRole("button", { name: "Start", exact: true }).click();

    await page.getByRole("heading", { name: "Delete 3 old logs?" }).waitFor();
    await keepPicture(page, "approval");
    await page.getByRole("button", { name: "Approve" }).click();
    const timeline = page.getByRole("region", { name: "Timeline" });
    await timeline.getByText("what shall I call the report?").waitFor();
    await page.getByRole("textbox", { name: "Steer this execution" }).fill("Call it spring-clean ✨");
    await page.getByRole("button", { name: "Send" }).click();
    await timeline.getByText("The report is written.").waitFor();
    await page.getByText("Complete", { exact: true }).waitFor();
    await keepPicture(page, "steered");

    await page.getByRole("link", { name: "Start", exact: true }).click();
    await page.getByRole("button", { name: "Run for a minute" }).click();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Cancel execution" }).click();
    await page.locator(".execution-head").getByText("Cancelled", { exact: true }).waitFor();

    expect(performance.now() - began).toBeLessThan(60_000);
    const { executions } = await site.client.executions.listExecutions({});
    expect(executions.map(({ state }) => state)).toEqual([ExecutionState.CANCELLED, ExecutionState.SUCCEEDED]);
    expect(executions[1]?.finalOutput).toContain("Call it spring-clean ✨");
    expect(complaints).toEqual([]);
  }, 70_000);
});
