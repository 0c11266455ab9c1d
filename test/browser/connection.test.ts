import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { HarnessError } from "../../src/core/errors.js";
import type { Runtime } from "../../src/core/runtime.js";
import { eventually, openBrowser, openTab, setHidden, type Tab } from "./support/browser.js";
import { APPROVAL, startScript, untilState } from "./support/scripts.js";
import { openSite, type Site, type SiteOptions } from "./support/site.js";

const { AWAITING_APPROVAL, RUNNING } = ExecutionState;

let browser: Browser;
let site: Site | undefined;

beforeAll(async () => {
  browser = await openBrowser();
}, 60_000);

afterEach(async () => {
  await site?.close();
  site = undefined;
});

afterAll(async () => {
  await browser?.close();
});

async function open(options: SiteOptions = {}): Promise<{ readonly at: Site; readonly tab: Tab }> {
  site = await openSite(options);
  return { at: site, tab: await openTab(browser) };
}

/** The sequences of the events that are shown, from the first to the last, read while scrolling through them. */
async function shownSequences(page: Page): Promise<readonly number[]> {
  return await page.evaluate(async () => {
    const scroller = document.querySelector<HTMLElement>(".event-list .scroller");
    if (scroller === null) throw new Error("no list of events");
    const seen: number[] = [];
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    for (let top = 0; ; top += 300) {
      scroller.scrollTop = top;
      await frame();
      await frame();
      const sequences = Array.from(scroller.querySelectorAll(".event-row .sequence"), (cell) =>
        Number(cell.textContent),
      );
      if (sequences.some((sequence, at) => at > 0 && sequence !== (sequences[at - 1] ?? 0) + 1)) return sequences;
      seen.push(...sequences.filter((sequence) => sequence > (seen.at(-1) ?? 0)));
      if (top > scroller.scrollHeight) return seen;
    }
  });
}

/** Counts the watchers that are open. */
function counting(): { readonly open: () => number; readonly wrap: (runtime: Runtime) => Runtime } {
  let count = 0;
  return {
    open: () => count,
    wrap: (runtime) =>
      new Proxy(runtime, {
        get(target, name) {
          if (name !== "watchEvents") return bound(target, name);
          return async (...args: Parameters<Runtime["watchEvents"]>) => {
            const watcher = await target.watchEvents(...args);
            count++;
            let closed = false;
            return new Proxy(watcher, {
              get(inner, key) {
                if (key !== "close") return bound(inner, key);
                return () => {
                  if (!closed) count--;
                  closed = true;
                  inner.close();
                };
              },
            });
          };
        },
      }),
  };
}

/** Counts the views of one kind that were ever opened, and the frames that they have sent. */
function countingViews<K extends "watchExecutions" | "watchActions">(kind: K) {
  const counts = { opened: 0, frames: 0 };
  const wrap = (runtime: Runtime): Runtime =>
    new Proxy(runtime, {
      get(target, name) {
        const value = bound(target, name);
        if (name !== kind) return value;
        return async function* (...args: Parameters<Runtime[K]>) {
          counts.opened++;
          for await (const frame of (value as (...args: Parameters<Runtime[K]>) => AsyncIterable<unknown>)(...args)) {
            yield frame;
            counts.frames++;
          }
        };
      },
    });
  return { counts, wrap };
}

/** A property of the real thing, as if nothing were around it. */
function bound(target: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name, target);
  return typeof value === "function" ? value.bind(target) : value;
}

describe("a lost connection", () => {
  test("is shown, tried again, and resumed where it was, with each event once and in order", async () => {
    const { at, tab } = await open();
    const id = await startScript(at, "Long", [
      { flood: { count: 300, bytes: 20 } },
      APPROVAL,
      { flood: { count: 300, bytes: 20 } },
    ]);
    await untilState(at, id, AWAITING_APPROVAL);
    const { page } = tab;
    await page.goto(`${at.url}/#/executions/${id}?tab=events`);
    await page.getByText("Live", { exact: true }).waitFor();
    await at.stop();
    const banner = page.getByRole("status").filter({ hasText: "Connection lost." });
    await banner.waitFor();
    expect(await banner.textContent()).toMatch(/Shown up to event 30\d\. Trying again/);
    // What changes every second is for the eye: it would be said aloud each time.
    expect(await banner.ariaSnapshot()).not.toContain("Trying again");
    await at.restart();
    await banner
      .getByRole("button", { name: "Try now" })
      .click()
      .catch(() => undefined);
    await page.getByText("Live", { exact: true }).waitFor();
    await banner.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Complete", { exact: true }).waitFor();
    const { execution } = await at.client.executions.getExecution({ executionId: id });
    const last = execution?.lastSequence ?? 0;
    await page.locator(`.progress[data-shown="${last}"]`).waitFor();
    expect(await shownSequences(page)).toEqual(Array.from({ length: last }, (_, index) => index + 1));
    await tab.context.close();
  }, 40_000);

  test("is said where no stream would tell, and no longer once the server is back", async () => {
    const { at, tab } = await open();
    const { page } = tab;
    await page.goto(`${at.url}/#/runtime`);
    await page.getByText("harnessruntime.v1.ExecutionService").waitFor();
    await at.stop();
    const banner = page.getByRole("status").filter({ hasText: "The server does not answer." });
    await banner.waitFor();
    await page.getByRole("link", { name: "Unreachable" }).waitFor();
    await at.restart();
    await banner.waitFor({ state: "detached" });
    await page.getByText("harnessruntime.v1.ExecutionService").waitFor();
    await tab.context.close();
  }, 40_000);

  test("to a server that drains is taken up again with nothing to see", async () => {
    const { at, tab } = await open();
    const id = await startScript(at, "Drained", [APPROVAL]);
    await untilState(at, id, AWAITING_APPROVAL);
    const { page } = tab;
    await page.goto(`${at.url}/#/executions/${id}`);
    await page.getByText("Live", { exact: true }).waitFor();
    await at.server.drain(2_000);
    await at.restart();
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Complete", { exact: true }).waitFor();
    await tab.context.close();
  }, 40_000);
});

describe("an error", () => {
  test("before the first message is said in the server's words", async () => {
    const { at, tab } = await open();
    await tab.page.goto(`${at.url}/#/executions/exe_nowhere`);
    await tab.page.getByRole("alert").getByText('no execution has the ID "exe_nowhere" (NOT_FOUND)').waitFor();
    await tab.context.close();
  });

  test("in mid-stream ends the stream, says the ID under which the server logged it, and keeps what was shown", async () => {
    let fail = (): void => undefined;
    const failed = new Promise<never>((_, reject) => {
      fail = () => reject(new HarnessError(ErrorReason.INTERNAL, "a secret of the store"));
    });
    failed.catch(() => undefined);
    const wrap = (runtime: Runtime): Runtime =>
      new Proxy(runtime, {
        get(target, name) {
          if (name !== "watchEvents") return bound(target, name);
          return async (...args: Parameters<Runtime["watchEvents"]>) => {
            const watcher = await target.watchEvents(...args);
            return new Proxy(watcher, {
              get(inner, key) {
                if (key !== "next") return bound(inner, key);
                return (signal?: AbortSignal) => Promise.race([inner.next(signal), failed]);
              },
            });
          };
        },
      });
    const { at, tab } = await open({ wrap, server: { nextErrorId: () => "err-4711" } });
    const { execution } = await at.client.executions.startExecution({
      providerId: "scripted",
      input: { text: "Fail in the middle" },
      config: { steps: [{ text: "so far so good" }, { await_steer: true }] },
    });
    const { page } = tab;
    await page.goto(`${at.url}/#/executions/${execution?.id}`);
    await page.getByText("so far so good").first().waitFor();
    fail();
    const alert = page.getByRole("alert");
    await alert.getByText("err-4711").waitFor();
    expect(await alert.textContent()).not.toContain("a secret of the store");
    expect(await page.locator(".row-text").textContent()).toContain("so far so good");
    await tab.context.close();
  });
});

test("a log whose beginning is no longer kept is shown from where it is", async () => {
  const kept = 40;
  const { at, tab } = await open({
    wrap: (runtime) =>
      new Proxy(runtime, {
        get(target, name) {
          if (name !== "watchEvents") return bound(target, name);
          return async (...[caller, options]: Parameters<Runtime["watchEvents"]>) => {
            if (options.afterSequence >= kept - 1) return await target.watchEvents(caller, options);
            throw new HarnessError(ErrorReason.CURSOR_EXPIRED, "trimmed", { first_sequence: String(kept) });
          };
        },
      }),
  });
  const { execution } = await at.client.executions.startExecution({
    providerId: "scripted",
    input: { text: "Trimmed" },
    config: { steps: [{ flood: { count: 60, bytes: 10 } }, { text: "the end" }] },
  });
  const { page } = tab;
  await page.goto(`${at.url}/#/executions/${execution?.id}?tab=events&sequence=45`);
  await page.getByRole("region", { name: "Event 45" }).waitFor();
  await page.getByText("kept from 40 on").waitFor();
  await page.locator(".event-row:focus .sequence", { hasText: "45" }).waitFor();
  expect((await shownSequences(page))[0]).toBe(kept);
  await tab.context.close();
});

test("an action is shown although the execution could not be read when it was opened", async () => {
  const { at, tab } = await open();
  const id = await startScript(at, "Unread", [{ await_steer: true }, APPROVAL]);
  await untilState(at, id, RUNNING);
  const { page } = tab;
  await page.goto(`${at.url}/#/executions/${id}`);
  await page.getByRole("textbox", { name: "Steer this execution" }).waitFor();
  let refused = 0;
  await page.route("**/GetExecution", async (route) => {
    refused++;
    await route.fulfill({ status: 403, json: { code: "permission_denied", message: "not now" } });
  });
  await at.client.executions.sendInput({ executionId: id, input: { text: "on" }, mode: 2 });
  await page.locator(".row-action").waitFor();
  await eventually(() => expect(refused).toBeGreaterThan(0));
  await setHidden(page, true);
  await page.unroute("**/GetExecution");
  expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
  await setHidden(page, false);
  await page.getByRole("button", { name: "Approve" }).waitFor();
  await tab.context.close();
});

describe("streams", () => {
  test("of a hidden tab are closed, and opened again after the last event when it is seen again", async () => {
    const watchers = counting();
    const { at, tab } = await open({ wrap: watchers.wrap });
    const id = await startScript(at, "Hide", [{ text: "before " }, { await_steer: true }, { await_steer: true }]);
    const { page } = tab;
    await page.goto(`${at.url}/#/executions/${id}`);
    await page.getByText("before").first().waitFor();
    await eventually(() => expect(watchers.open()).toBe(1));
    await setHidden(page, true);
    await eventually(() => expect(watchers.open()).toBe(0));
    await at.client.executions.sendInput({ executionId: id, input: { text: "meanwhile" }, mode: 2 });
    await at.client.executions.getExecution({ executionId: id });
    expect(await page.getByText("meanwhile").count()).toBe(0);
    await setHidden(page, false);
    await page.getByText("meanwhile").waitFor();
    await eventually(() => expect(watchers.open()).toBe(1));
    await tab.context.close();
    await eventually(() => expect(watchers.open()).toBe(0));
  });

  test("leave room for calls: of seven tabs the seventh follows and answers as well", async () => {
    const watchers = counting();
    const { at, tab } = await open({ wrap: watchers.wrap });
    const ids: string[] = [];
    for (let index = 0; index < 7; index++) ids.push(await startScript(at, `Tab ${index}`, [APPROVAL]));
    for (const id of ids) await untilState(at, id, AWAITING_APPROVAL);
    const tabs = [tab.page];
    for (let index = 1; index < 7; index++) tabs.push((await openTab(browser, { in: tab.context })).page);
    for (const [index, page] of tabs.entries()) {
      await page.goto(`${at.url}/#/executions/${ids[index]}`);
      await page.getByRole("button", { name: "Approve" }).waitFor();
    }
    expect(watchers.open()).toBeLessThanOrEqual(5);
    const seventh = tabs[6];
    await seventh?.getByText("Every second", { exact: true }).waitFor();
    await seventh?.getByRole("button", { name: "Approve" }).click();
    await seventh?.getByText("Complete", { exact: true }).waitFor();
    // A tab that goes away leaves its stream to another.
    await tabs[0]?.close();
    const others = [tabs[4], tabs[5]].map((page) => page?.getByText("Live", { exact: true }).waitFor());
    await Promise.any(others);
    await Promise.allSettled([tab.context.close(), ...others]);
  }, 60_000);

  test.each([
    { kind: "watchExecutions", hash: "#/executions", title: "Quiet" },
    { kind: "watchActions", hash: "#/inbox", title: "Deploy?" },
  ] as const)("of $kind stay open while nothing happens, for heartbeats say so", async ({ kind, hash, title }) => {
    const { counts, wrap } = countingViews(kind);
    const { at, tab } = await open({ wrap, limits: { heartbeatIntervalMs: 100 } });
    const id = await startScript(at, "Quiet", [{ approval: { title: "Deploy?" } }]);
    await untilState(at, id, AWAITING_APPROVAL);
    const { page } = tab;
    await page.clock.install();
    await page.goto(`${at.url}/${hash}`);
    await page.getByText(title).first().waitFor();
    for (let round = 0; round < 4; round++) {
      const before = counts.frames;
      await eventually(() => expect(counts.frames).toBeGreaterThan(before + 1));
      await page.clock.runFor(20_000);
    }
    expect(counts.opened).toBe(1);
    await tab.context.close();
  });

  test("begin anew with nothing lost in the list of executions when the server is started again", async () => {
    const { at, tab } = await open();
    const id = await startScript(at, "Still here", [APPROVAL]);
    await untilState(at, id, AWAITING_APPROVAL);
    const { page } = tab;
    await page.goto(at.url);
    await page.getByRole("link", { name: /Still here/ }).waitFor();
    await at.restart();
    const next = await startScript(at, "Came later", [{ await_steer: true }]);
    await untilState(at, next, RUNNING);
    await page.getByRole("link", { name: /Came later/ }).waitFor();
    expect(await page.getByRole("link", { name: /Still here/ }).count()).toBe(1);
    await tab.context.close();
  }, 40_000);
});
