import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { openBrowser, openTab } from "./support/browser.js";
import { APPROVAL, startScript, untilState } from "./support/scripts.js";
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

test("a browser that stores nothing for the page shows it all the same", async () => {
  const { page, context, complaints } = await openTab(browser);
  await page.addInitScript(() => {
    for (const place of ["localStorage", "sessionStorage"]) {
      Object.defineProperty(window, place, {
        get() {
          throw new DOMException("The operation is insecure.", "SecurityError");
        },
      });
    }
  });
  await page.goto(`${site.url}/#/runtime`);
  await page.getByText("harnessruntime.v1.ExecutionService").waitFor();
  await page.getByRole("button", { name: "Dark", exact: true }).click();
  await page.locator("html[data-theme=dark]").waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});

test("the command that is chosen with the arrows is in sight among the others", async () => {
  const id = await startScript(site, "Many commands", [APPROVAL]);
  await untilState(site, id, ExecutionState.AWAITING_APPROVAL);
  const { page, context } = await openTab(browser, { viewport: { width: 1280, height: 500 } });
  await page.goto(`${site.url}/#/executions/${id}`);
  await page.getByRole("button", { name: "Approve" }).waitFor();
  await page.keyboard.press("Control+k");
  const list = page.getByRole("listbox", { name: "Commands" });
  const isInSight = async (): Promise<boolean> =>
    await list.evaluate((element) => {
      const chosen = element.querySelector('[aria-selected="true"]')?.getBoundingClientRect();
      const { top, bottom } = element.getBoundingClientRect();
      return chosen !== undefined && chosen.top >= top - 1 && chosen.bottom <= bottom + 1;
    });
  const options = await list.getByRole("option").count();
  for (let option = 1; option < options; option++) {
    await page.keyboard.press("ArrowDown");
    expect(await isInSight()).toBe(true);
  }
  await list.getByRole("option", { selected: true }).and(list.getByRole("option").last()).waitFor();
  await page.keyboard.press("ArrowDown");
  expect(await isInSight()).toBe(true);
  await context.close();
});

test("what could not be sent is given back, and what was typed since is kept", async () => {
  const id = await startScript(site, "Write", [{ await_steer: true }]);
  await untilState(site, id, ExecutionState.RUNNING);
  const { page, context } = await openTab(browser);
  await page.goto(`${site.url}/#/executions/${id}`);
  const box = page.getByRole("textbox", { name: "Steer this execution" });
  await page.route("**/SendInput", async (route) => {
    await box.fill("the next one");
    await route.fulfill({ status: 400, json: { code: "invalid_argument", message: "not this" } });
  });
  await box.fill("to the left");
  await box.press("Enter");
  await page.getByText("not this").waitFor();
  expect(await box.inputValue()).toBe("to the left\nthe next one");
  await context.close();
});
