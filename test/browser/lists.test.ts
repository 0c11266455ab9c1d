import type { JsonObject } from "@bufbuild/protobuf";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { eventually, openBrowser, openTab, setHidden } from "./support/browser.js";
import { startScript, untilState } from "./support/scripts.js";
import { openSite, type Site } from "./support/site.js";

const { AWAITING_APPROVAL, SUCCEEDED } = ExecutionState;

let browser: Browser;
let site: Site;

beforeAll(async () => {
  browser = await openBrowser();
}, 60_000);

beforeEach(async () => {
  site = await openSite();
});

afterEach(async () => {
  await site.close();
});

afterAll(async () => {
  await browser?.close();
});

/** Starts an execution that asks for approval under its own name, and waits until it does. */
async function ask(title: string, description = ""): Promise<string> {
  const step: JsonObject = { approval: { title, description, if_denied: "continue" } };
  const id = await startScript(site, title, [step]);
  await untilState(site, id, AWAITING_APPROVAL);
  return id;
}

/** Answers an execution's action from outside. */
async function approveOutside(executionId: string): Promise<void> {
  const { actions } = await site.client.actions.listActions({ executionId });
  const actionId = actions[0]?.id ?? "";
  await site.client.actions.respondAction({ executionId, actionId, response: { approved: true } });
}

async function pendingIds(): Promise<readonly string[]> {
  const { actions } = await site.client.actions.listActions({ states: [ActionState.PENDING] });
  return actions.map(({ executionId }) => executionId);
}

const card = (page: Page, title: string) => page.getByRole("article", { name: title, exact: true });

describe("the list of executions", () => {
  test("takes the keys for the row in focus, whatever comes before it", async () => {
    const mine = await ask("Mine");
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/executions`);
    await page.getByRole("link", { name: /Mine/ }).focus();
    const later = await ask("Later");
    await page.locator(".rows > li").first().getByText("Later").first().waitFor();
    await page.locator("a:focus", { hasText: "Mine" }).waitFor();
    await page.keyboard.press("a");
    await untilState(site, mine, SUCCEEDED);
    expect(await pendingIds()).toEqual([later]);
    await context.close();
  });

  test("goes on with j and k from the row in focus, whatever comes before it", async () => {
    await ask("Lowest");
    await ask("Mine");
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/executions`);
    await page.getByRole("link", { name: /Lowest/ }).waitFor();
    await page.keyboard.press("j");
    await page.locator("a:focus", { hasText: "Mine" }).waitFor();
    await ask("Later");
    await page.locator(".rows > li").first().getByText("Later").first().waitFor();
    await page.keyboard.press("j");
    await page.locator("a:focus", { hasText: "Lowest" }).waitFor();
    await context.close();
  });
});

describe("the list of executions, where others have all the streams", () => {
  test("lets go of what no longer matches its filter", async () => {
    const id = await ask("Over soon");
    await ask("Stays");
    const { page, context } = await openTab(browser);
    await page.addInitScript(() => {
      for (let slot = 0; slot < 4; slot++) {
        void navigator.locks.request(`harness.stream.${slot}`, () => new Promise(() => undefined));
      }
    });
    await page.goto(`${site.url}/#/executions?state=active`);
    await page.getByText("Every second", { exact: true }).waitFor();
    await page.getByRole("link", { name: /Over soon/ }).waitFor();
    await approveOutside(id);
    await page.getByRole("link", { name: /Over soon/ }).waitFor({ state: "detached" });
    expect(await page.getByRole("link", { name: /Stays/ }).count()).toBe(1);
    await context.close();
  });
});

describe("the list of more executions than are watched as a whole", () => {
  test("knows what ended while the page was hidden, however old it is", async () => {
    const id = await ask("The oldest");
    for (let round = 0; round < 21; round++) {
      const batch = Array.from({ length: 50 }, (_, index) => startScript(site, `${round} ${index}`, []));
      await Promise.all(batch);
    }
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/executions`);
    const scroller = page.getByRole("region", { name: "Executions" });
    const oldest = page.getByRole("link", { name: /The oldest/ });
    const toEnd = async (): Promise<void> => {
      await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      expect(await oldest.count()).toBe(1);
    };
    await page.getByText("Live", { exact: true }).waitFor();
    await eventually(toEnd);
    await setHidden(page, true);
    await approveOutside(id);
    await untilState(site, id, SUCCEEDED);
    await setHidden(page, false);
    await oldest.getByText("Succeeded").waitFor();
    await context.close();
  }, 60_000);
});

describe("the inbox", () => {
  test("marks the action that the keys are about, and takes no key for one that has only just come to it", async () => {
    const first = await ask("First");
    const second = await ask("Second");
    const { page, context } = await openTab(browser);
    const answers: string[] = [];
    page.on("request", (request) => {
      if (request.url().endsWith("/RespondAction")) answers.push(request.url());
    });
    await page.goto(`${site.url}/#/inbox`);
    await card(page, "Second").waitFor();
    await page.locator(".action-card.current", { hasText: "First" }).waitFor();
    // The key is pressed as soon as the first one is gone.
    await page.evaluate(() => {
      new MutationObserver((_, observer) => {
        if (document.querySelectorAll(".action-card").length > 1) return;
        observer.disconnect();
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, cancelable: true }));
        document.body.dataset["pressed"] = "true";
      }).observe(document.body, { childList: true, subtree: true });
    });
    await approveOutside(first);
    await page.locator("body[data-pressed]").waitFor();
    await page.locator(".action-card.current", { hasText: "Second" }).waitFor();
    expect(answers).toEqual([]);
    expect(await pendingIds()).toEqual([second]);
    await eventually(async () => {
      await page.keyboard.press("a");
      expect(answers).toHaveLength(1);
    });
    await untilState(site, second, SUCCEEDED);
    await context.close();
  });

  test("moves nothing that is in view when an action above it goes away, or one comes below", async () => {
    const line = "It is a long story that takes more than one line to tell, whatever the width. ";
    const ids: string[] = [];
    for (let index = 0; index < 12; index++) ids.push(await ask(`Number ${index}`, line.repeat(1 + 3 * (index % 4))));
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/inbox`);
    await card(page, "Number 0").waitFor();
    for (let index = 0; index < 6; index++) {
      await page.keyboard.press("j");
      await page.locator(".action-card:focus-within", { hasText: `Number ${index}` }).waitFor();
    }
    const approve = card(page, "Number 6").getByRole("button", { name: "Approve" });
    await approve.scrollIntoViewIfNeeded();
    await page.locator(".view-inbox .scroller").hover();
    await page.mouse.wheel(0, 40);
    /** Where the button stands once it stands still. */
    const standsAt = async (): Promise<number> =>
      await approve.evaluate(async (button) => {
        let before = Number.NaN;
        for (let still = 0; still < 5; still++) {
          await new Promise((resolve) => requestAnimationFrame(resolve));
          const { top } = button.getBoundingClientRect();
          if (top !== before) still = 0;
          before = top;
        }
        return before;
      });
    const before = await standsAt();
    await approveOutside(ids[0] ?? "");
    await approveOutside(ids[1] ?? "");
    await ask("Newest");
    const count = page.getByRole("link", { name: "Inbox" });
    await count.getByText("11").waitFor();
    // Heights are of parts of a pixel; what is scrolled is not.
    expect(Math.abs((await standsAt()) - before)).toBeLessThan(2);
    await context.close();
  }, 40_000);
});

describe("the events of a log that is over", () => {
  const steps: readonly JsonObject[] = [{ flood: { count: 200, bytes: 10 } }, { text: "the end" }];

  test("can be filtered by one kind after another", async () => {
    const id = await startScript(site, "Kinds", [{ text: "words" }]);
    await untilState(site, id, SUCCEEDED);
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/executions/${id}?tab=events`);
    await page.getByText("Complete", { exact: true }).waitFor();
    const kinds = async () => [
      ...new Set((await page.locator(".event-row .type").allTextContents()).map((type) => type.split(".")[0])),
    ];
    for (const kind of ["output", "run", "output"]) {
      await page.getByLabel("Kind of events").selectOption(kind);
      await eventually(async () => expect(await kinds()).toEqual([kind]));
    }
    await context.close();
  });

  test("can be gone to by number as often as one likes", async () => {
    const id = await startScript(site, "Often", steps);
    await untilState(site, id, SUCCEEDED);
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/executions/${id}?tab=events`);
    await page.getByText("Complete", { exact: true }).waitFor();
    const goTo = page.getByLabel("Go to an event by its sequence");
    for (let round = 0; round < 2; round++) {
      await goTo.fill("20");
      await goTo.press("Enter");
      await page.locator(".event-row:focus .sequence", { hasText: /^20$/ }).waitFor();
      await page.keyboard.press("G");
      await page.locator(".event-row .type", { hasText: "run.completed" }).waitFor();
    }
    await context.close();
  });
});

test("an address with an event that is yet to come leads there once it has come", async () => {
  const id = await startScript(site, "Later", [{ approval: { title: "Go on?" } }, { flood: { count: 60, bytes: 10 } }]);
  await untilState(site, id, AWAITING_APPROVAL);
  const { page, context } = await openTab(browser);
  await page.goto(`${site.url}/#/executions/${id}?tab=events`);
  await page.getByRole("button", { name: "Approve" }).waitFor();
  await page.evaluate(() => {
    location.hash += "&sequence=40";
  });
  await approveOutside(id);
  await page.locator(".event-row:focus .sequence", { hasText: /^40$/ }).waitFor();
  await context.close();
});
