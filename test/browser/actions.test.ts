import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { openBrowser, openTab } from "./support/browser.js";
import { APPROVAL, startScript, untilState } from "./support/scripts.js";
import { openSite, type Site } from "./support/site.js";

const { AWAITING_APPROVAL, AWAITING_INPUT, SUCCEEDED } = ExecutionState;
const WITH_OPTIONS = {
  approval: {
    title: "May I run it?",
    options: [
      { id: "always", label: "Always", kind: "ACTION_OPTION_KIND_ALLOW_ALWAYS" },
      { id: "once", label: "Just now", kind: "ACTION_OPTION_KIND_ALLOW_ONCE" },
      { id: "no", label: "Not now", kind: "ACTION_OPTION_KIND_REJECT_ONCE" },
    ],
    if_denied: "continue",
  },
};

let browser: Browser;
let site: Site;

beforeAll(async () => {
  [browser, site] = await Promise.all([openBrowser(), openSite()]);
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
});

/** Starts an execution that asks for approval, and waits until it does. */
async function ask(text: string, step: typeof APPROVAL = APPROVAL): Promise<string> {
  const id = await startScript(site, text, [step]);
  await untilState(site, id, AWAITING_APPROVAL);
  return id;
}

async function answerOf(executionId: string): Promise<{ approved: boolean | undefined; optionId: string }> {
  const { actions } = await site.client.actions.listActions({ executionId, states: [ActionState.RESPONDED] });
  const [action] = actions;
  if (action === undefined) throw new Error("not answered");
  return { approved: action.approved, optionId: action.optionId };
}

describe("the inbox", () => {
  test("shows an action as it is opened and takes it away as somebody else answers it", async () => {
    const { page, context, complaints } = await openTab(browser);
    await page.goto(`${site.url}/#/inbox`);
    await page.getByText("Nothing waits for you.").waitFor();
    const executionId = await ask("Look at me");
    await page.getByRole("heading", { name: "Delete 3 old logs?" }).waitFor();
    const { actions } = await site.client.actions.listActions({ executionId });
    await site.client.actions.respondAction({
      executionId,
      actionId: actions[0]?.id ?? "",
      response: { approved: true },
    });
    await page.getByText("Nothing waits for you.").waitFor();
    await page.getByRole("link", { name: "Closed" }).click();
    await page.getByText("Approved", { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("shows what is over, and what comes to be over while one looks", async () => {
    const executionId = await ask("Over later");
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/inbox?show=closed`);
    const row = page.locator(`a.closed-row[href="#/executions/${executionId}"]`);
    await page.getByRole("link", { name: "Closed" }).waitFor();
    await page.getByText("Loading…").waitFor({ state: "detached" });
    expect(await row.count()).toBe(0);
    const { actions } = await site.client.actions.listActions({ executionId });
    const actionId = actions[0]?.id ?? "";
    await site.client.actions.respondAction({ executionId, actionId, response: { approved: true } });
    await row.waitFor();
    await context.close();
  });

  test("is worked through with j, k, a and d alone, and a denial is asked about first", async () => {
    const first = await ask("One");
    const second = await ask("Two");
    const third = await ask("Three");
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/inbox`);
    await page.getByRole("article").nth(2).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.getByRole("link", { name: second }).and(page.locator(":focus")).waitFor();
    await page.keyboard.press("d");
    await page.getByRole("dialog", { name: "Deny “Delete 3 old logs?”?" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("article").nth(2).waitFor();
    await page.keyboard.press("d");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Enter");
    await untilState(site, second, SUCCEEDED);
    await page.getByRole("link", { name: second }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: first }).focus();
    await page.keyboard.press("a");
    await untilState(site, first, SUCCEEDED);
    expect(await answerOf(second)).toMatchObject({ approved: false });
    expect(await answerOf(first)).toMatchObject({ approved: true });
    await site.client.executions.cancelExecution({ executionId: third, wait: true });
    await page.getByText("Nothing waits for you.").waitFor();
    await context.close();
  });

  test("offers an option that does not say what it means either way", async () => {
    const silent = { approval: { title: "Where?", options: [{ id: "here", label: "Here" }], if_denied: "continue" } };
    const { page, context } = await openTab(browser);
    for (const [verdict, approved] of [
      ["Approve: Here", true],
      ["Deny: Here", false],
    ] as const) {
      const id = await ask(verdict, silent as never);
      await page.goto(`${site.url}/#/executions/${id}`);
      await page.getByRole("button", { name: verdict }).click();
      await untilState(site, id, SUCCEEDED);
      expect(await answerOf(id)).toEqual({ approved, optionId: "here" });
    }
    await context.close();
  });

  test("offers an action's own options, and `a` never means always", async () => {
    const byKey = await ask("By key", WITH_OPTIONS);
    const byButton = await ask("By button", WITH_OPTIONS);
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/executions/${byKey}`);
    await page.getByRole("button", { name: "Just now" }).waitFor();
    await page.keyboard.press("a");
    await untilState(site, byKey, SUCCEEDED);
    expect(await answerOf(byKey)).toEqual({ approved: true, optionId: "once" });
    await page.goto(`${site.url}/#/inbox`);
    await page.getByRole("button", { name: "Always" }).click();
    await untilState(site, byButton, SUCCEEDED);
    expect(await answerOf(byButton)).toEqual({ approved: true, optionId: "always" });
    await context.close();
  });

  test("says who was first when somebody else answered in between", async () => {
    const executionId = await ask("Race");
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/executions/${executionId}`);
    await page.getByRole("button", { name: "Approve" }).waitFor();
    // Nothing new is shown from here on, as on a slow connection.
    await page.route("**/WatchEvents", (route) => route.abort());
    await page.route("**/GetExecution", (route) => route.abort());
    const { actions } = await site.client.actions.listActions({ executionId });
    await page.route("**/RespondAction", async (route) => {
      await site.client.actions.respondAction({
        executionId,
        actionId: actions[0]?.id ?? "",
        response: { approved: false },
      });
      await route.continue();
    });
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Already answered by local").waitFor();
    await context.close();
  });
});

describe("a form made of a schema", () => {
  const schema = {
    type: "object",
    required: ["day", "guests"],
    properties: {
      day: { type: "string", enum: ["today", "tomorrow"] },
      guests: { type: "integer", minimum: 1, maximum: 12 },
      outside: { type: "boolean" },
      dishes: { type: "array", items: { type: "string" } },
    },
  };

  test("is filled in, corrected and sent", async () => {
    const executionId = await startScript(site, "Book", [{ input: { title: "When?", schema } }]);
    await untilState(site, executionId, AWAITING_INPUT);
    const { page, context, complaints } = await openTab(browser);
    await page.goto(`${site.url}/#/executions/${executionId}`);
    await page.getByLabel("guests").fill("20");
    await page.getByRole("button", { name: "Send answer" }).click();
    await page.getByText("is required").waitFor();
    await page.getByLabel("day").selectOption("tomorrow");
    await page.getByLabel("guests").fill("4");
    await page.getByLabel("outside").check();
    await page.getByText("dishes", { exact: true }).click();
    await page.getByRole("button", { name: "Add to dishes" }).click();
    await page.getByLabel("dishes 1", { exact: true }).fill("حساء 🍲");
    await page.getByRole("button", { name: "Send answer" }).click();
    await untilState(site, executionId, SUCCEEDED);
    const { execution } = await site.client.executions.getExecution({ executionId });
    expect(JSON.parse(execution?.finalOutput ?? "")).toEqual({
      day: "tomorrow",
      guests: 4,
      outside: true,
      dishes: ["حساء 🍲"],
    });
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("can be left for JSON, and what the server refuses is said", async () => {
    const executionId = await startScript(site, "Book", [{ input: { title: "When?", schema } }]);
    await untilState(site, executionId, AWAITING_INPUT);
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/executions/${executionId}`);
    await page.getByRole("button", { name: "JSON", exact: true }).first().click();
    await page.getByLabel("answer as JSON").fill('{ "day": "never", "guests": 1 }');
    await page.getByRole("button", { name: "Send answer" }).click();
    await page.getByText("VALIDATION_ERROR").waitFor();
    await page.getByLabel("answer as JSON").fill('{ "day": "today", "guests": 1');
    await page.getByRole("button", { name: "Send answer" }).click();
    await page.getByLabel("answer as JSON").and(page.locator(":focus")).waitFor();
    await page.getByLabel("answer as JSON").fill('{ "day": "today", "guests": 2 }');
    await page.getByRole("button", { name: "Send answer" }).click();
    await untilState(site, executionId, SUCCEEDED);
    const { execution } = await site.client.executions.getExecution({ executionId });
    expect(JSON.parse(execution?.finalOutput ?? "")).toEqual({ day: "today", guests: 2 });
    await context.close();
  });
});

test("from the key to the server and back it takes less than 50 ms", async () => {
  const { page, context } = await openTab(browser);
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    const executionId = await ask(`Round ${round}`);
    await page.goto(`${site.url}/#/executions/${executionId}`);
    await page.getByRole("button", { name: "Approve" }).waitFor();
    times.push(
      await page.evaluate(async () => {
        const gone = new Promise<number>((resolve) => {
          new MutationObserver((_, observer) => {
            if (document.querySelector(".action-card") !== null) return;
            observer.disconnect();
            resolve(performance.now());
          }).observe(document.body, { childList: true, subtree: true });
        });
        const pressed = performance.now();
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, cancelable: true }));
        return (await gone) - pressed;
      }),
    );
  }
  // The machine may be busy with other things: the best of five is what the code takes.
  expect(Math.min(...times)).toBeLessThan(50);
  await context.close();
});
