import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTokens } from "../../src/server/tokens.js";
import { openBrowser, openTab } from "./support/browser.js";
import { startScript } from "./support/scripts.js";
import { openSite, type Site } from "./support/site.js";

let browser: Browser;
let site: Site;
let secret: string;
/** May not read. */
let mute: string;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "harness-tokens-"));
  const tokens = openTokens(join(folder, "tokens.json"));
  ({ secret } = await tokens.create({ tenantId: "acme", userId: "ada" }));
  ({ secret: mute } = await tokens.create({ tenantId: "acme", userId: "mute", scopes: ["respond"] }));
  [browser, site] = await Promise.all([openBrowser(), openSite({ server: { auth: tokens }, token: secret })]);
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("where the server asks for a token", () => {
  test("the page asks for it, refuses a wrong one, and goes on where it was with the right one", async () => {
    const id = await startScript(site, "For members", [{ text: "in private" }]);
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/executions/${id}`);
    await page.getByRole("heading", { name: "This runtime asks who you are" }).waitFor();
    await page.getByLabel("Token").fill("hrt_000000000000_wrong");
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByRole("heading", { name: "That token is not valid here" }).waitFor();
    await page.getByLabel("Token").fill(secret);
    await page.keyboard.press("Enter");
    await page.getByText("in private").first().waitFor();
    await page.getByText("Complete", { exact: true }).waitFor();
    expect(page.url()).not.toContain(secret);
    await context.close();
  });

  test("a token that may not see what is asked for is said to be so, and can be changed for another", async () => {
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/executions`);
    await page.getByLabel("Token").fill(mute);
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("PERMISSION_DENIED").waitFor();
    for (const view of ["providers", "start"]) {
      await page.goto(`${site.url}/#/${view}`);
      await page.locator(`.view-${view}`).getByRole("alert").getByText("PERMISSION_DENIED").waitFor();
    }
    await page.goto(`${site.url}/#/executions`);
    await page.getByRole("button", { name: "Use another token" }).click();
    await page.getByLabel("Token").fill(secret);
    await page.keyboard.press("Enter");
    await page.getByText("Live", { exact: true }).waitFor();
    await context.close();
  });

  test("a token is forgotten with the tab, unless it is to be kept, and on demand", async () => {
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/runtime`);
    await page.getByLabel("Token").fill(secret);
    await page.keyboard.press("Enter");
    await page.getByText("harnessruntime.v1.ExecutionService").waitFor();
    expect(await page.evaluate(() => localStorage.length)).toBe(0);
    const other = await openTab(browser, { in: context });
    await other.page.goto(site.url);
    await other.page.getByLabel("Token").fill(secret);
    await other.page.getByLabel("Keep it in this browser").check();
    await other.page.keyboard.press("Enter");
    await other.page.getByRole("heading", { name: "Executions" }).waitFor();
    const third = await openTab(browser, { in: context });
    await third.page.goto(`${site.url}/#/runtime`);
    await third.page.getByRole("button", { name: "Forget the token" }).click();
    await third.page.getByRole("heading", { name: "This runtime asks who you are" }).waitFor();
    expect(await third.page.evaluate(() => localStorage.length)).toBe(0);
    await context.close();
  });

  test("the token is never in a command that is copied", async () => {
    const { page, context } = await openTab(browser, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.goto(`${site.url}/#/start`);
    await page.getByLabel("Token").fill(secret);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Copy as grpcurl" }).click();
    await page.getByText("Copied").waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toContain('-H "Authorization: Bearer $HARNESS_TOKEN"');
    expect(copied).not.toContain(secret);
    await context.close();
  });
});
