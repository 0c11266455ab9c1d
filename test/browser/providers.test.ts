import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConformanceResultSchema, SupportLevel } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { Runtime } from "../../src/core/runtime.js";
import { openBrowser, openTab } from "./support/browser.js";
import { openSite, type Site } from "./support/site.js";

let browser: Browser;
let site: Site;

/** The same runtime, whose providers were measured, and do not all keep what they claim. */
function measured(runtime: Runtime): Runtime {
  const conformance = create(ConformanceResultSchema, {
    suiteVersion: "7",
    measureTime: timestampFromDate(new Date()),
    passed: 41,
    failed: 1,
    measuredLevels: { "input.steer": SupportLevel.DEGRADED, "action.input": SupportLevel.NATIVE },
  });
  return new Proxy(runtime, {
    get(target, name) {
      if (name === "listProviders") return () => target.listProviders().map((entry) => ({ ...entry, conformance }));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

beforeAll(async () => {
  [browser, site] = await Promise.all([openBrowser(), openSite({ wrap: measured })]);
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
});

test("a provider's claims stand beside what was measured, and what is less than claimed is said to be", async () => {
  const { page, context, complaints } = await openTab(browser);
  await page.goto(`${site.url}/#/providers`);
  const row = (name: string) => page.getByRole("row", { name: new RegExp(`^${name} `) });
  await row("input.steer").waitFor();
  expect(await row("input.steer").textContent()).toMatch(/NativeDegraded less than claimed$/);
  expect(await row("action.input").textContent()).toMatch(/NativeNative$/);
  expect(await row("artifact.list").textContent()).toMatch(/Native–$/);
  await page.getByText("Suite 7: 41 passed, 1 failed").waitFor();
  await page.getByRole("link", { name: "Start" }).last().click();
  expect(page.url()).toContain("#/start?provider=scripted");
  expect(complaints).toEqual([]);
  await context.close();
});
