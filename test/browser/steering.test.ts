import { create } from "@bufbuild/protobuf";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { PlanEntryState } from "../../gen/ts/harnessruntime/v1/output_events_pb.js";
import { ProviderManifestSchema, SupportLevel, Topology } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { Provider } from "../../src/core/provider.js";
import { eventually, openBrowser, openTab } from "./support/browser.js";
import { startScript, untilState } from "./support/scripts.js";
import { openSite, type Site } from "./support/site.js";

const { RUNNING, SUCCEEDED, CANCELLED } = ExecutionState;

let browser: Browser;
let site: Site;

beforeAll(async () => {
  [browser, site] = await Promise.all([openBrowser(), openSite()]);
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
});

describe("a running execution", () => {
  test("takes a steer in its turn and a follow-up as its next", async () => {
    const id = await startScript(site, "Begin", [{ text: "first " }, { await_steer: true }]);
    await untilState(site, id, RUNNING);
    const { page, context, complaints } = await openTab(browser);
    await page.goto(`${site.url}/#/executions/${id}`);
    const timeline = page.getByRole("region", { name: "Timeline" });
    await page.getByRole("button", { name: "Follow up" }).click();
    await page.getByRole("textbox", { name: "Follow up this execution" }).fill("and then this");
    await page.keyboard.press("Enter");
    await timeline.getByText("waiting").waitFor();
    await page.getByRole("button", { name: "Steer" }).click();
    await page.getByRole("textbox", { name: "Steer this execution" }).fill("to the left");
    await page.getByRole("button", { name: "Send" }).click();
    await timeline.getByRole("heading", { name: "Turn 2 · follow-up" }).waitFor();
    await page.getByText("Complete", { exact: true }).waitFor();
    const { execution } = await site.client.executions.getExecution({ executionId: id });
    expect(execution?.turn).toBe(2);
    expect(execution?.finalOutput).toBe("and then this");
    expect(await timeline.getByText("to the left").count()).toBe(2);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("is interrupted by a replace, whose turn before is marked as no longer counting", async () => {
    const id = await startScript(site, "Begin", [{ text: "a long way round" }, { sleep_ms: 600_000 }]);
    await untilState(site, id, RUNNING);
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/executions/${id}`);
    await page.getByText("a long way round").first().waitFor();
    await page.getByRole("button", { name: "Replace" }).click();
    await page.getByRole("textbox", { name: "Replace this execution" }).fill("a short way");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Turn 2 · replace · turn 1 no longer counts" }).waitFor();
    await page.locator(".row.superseded", { hasText: "a long way round" }).waitFor();
    await page.getByText("Complete", { exact: true }).waitFor();
    await context.close();
  });

  test("gives back an input that nobody has taken yet", async () => {
    const id = await startScript(site, "Begin", [{ await_steer: true }]);
    await untilState(site, id, RUNNING);
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/executions/${id}`);
    await page.getByRole("button", { name: "Follow up" }).click();
    await page.getByRole("textbox", { name: "Follow up this execution" }).fill("on second thought");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Withdraw" }).click();
    await page.locator(".row-input", { hasText: "on second thought" }).getByText("withdrawn").waitFor();
    await page.getByRole("button", { name: "Withdraw" }).waitFor({ state: "detached" });
    await context.close();
  });

  test("is cancelled with `c`, a reason and a word of confirmation", async () => {
    const id = await startScript(site, "Begin", [{ sleep_ms: 600_000 }]);
    await untilState(site, id, RUNNING);
    const { page, context } = await openTab(browser);
    await page.goto(`${site.url}/#/executions/${id}`);
    await page.locator(".execution-head").getByText("Running", { exact: true }).waitFor();
    await page.keyboard.press("c");
    await page.getByRole("button", { name: "Let it run" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("c");
    await page.getByLabel("Reason").fill("changed my mind 🙃");
    await page.keyboard.press("Enter");
    await untilState(site, id, CANCELLED);
    const { execution } = await site.client.executions.getExecution({ executionId: id });
    expect(execution?.cancel?.reason).toBe("changed my mind 🙃");
    await page.locator(".execution-head").getByText("Cancelled", { exact: true }).waitFor();
    await context.close();
  });

  test("shows its tool calls with input and output, and each event as JSON and as grpcurl", async () => {
    const id = await startScript(site, "Begin", [
      { tool_call: { name: "list_files", input: { path: "." }, output: ["a.log", "b.log"] } },
    ]);
    await untilState(site, id, SUCCEEDED);
    const { page, context } = await openTab(browser, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.goto(`${site.url}/#/executions/${id}`);
    await page.getByRole("button", { name: /^list_files/ }).click();
    await page.locator(".tool-body").getByText('"b.log"').waitFor();
    await page.getByRole("button", { name: "Copy the output" }).click();
    await page.getByText("Copied the output").waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('[\n  "a.log",\n  "b.log"\n]');
    await page.getByRole("spinbutton", { name: "Go to an event by its sequence" }).fill("4");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Event 4" }).click();
    const panel = page.getByRole("region", { name: "Event 4" });
    await panel.getByText('"tool_call_started"').waitFor();
    await panel.getByRole("button", { name: "grpcurl" }).click();
    await page.getByText("Copied the grpcurl command that reads it").waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
      `grpcurl -plaintext -d '{"execution_id":"${id}","after_sequence":3,"page_size":1}' ` +
        `${new URL(site.url).host} harnessruntime.v1.ExecutionService/ListEvents`,
    );
    await context.close();
  });
});

test("a steer is shown as waiting until the turn takes it, whoever sent it", async () => {
  const taken = Promise.withResolvers<void>();
  const busy: Provider = {
    manifest: create(ProviderManifestSchema, {
      id: "busy",
      version: "1",
      topologies: [Topology.EMBEDDED],
      capabilities: { "input.steer": SupportLevel.NATIVE },
    }),
    async run(context) {
      await taken.promise;
      for await (const steer of context.steers()) context.log.debug({ length: steer.text.length }, "steered");
      return { status: "succeeded" };
    },
  };
  const own = await openSite({ providers: [busy] });
  try {
    const { execution } = await own.client.executions.startExecution({ providerId: "busy", input: { text: "Work" } });
    const executionId = execution?.id ?? "";
    const { page, context } = await openTab(browser);
    await page.goto(`${own.url}/#/executions/${executionId}`);
    const waiting = page.locator(".row-input").getByText("waiting", { exact: true });
    await page.getByRole("textbox", { name: "Steer this execution" }).fill("from here");
    await page.keyboard.press("Enter");
    await waiting.waitFor();
    await own.client.executions.sendInput({ executionId, input: { text: "from there" }, mode: InputMode.STEER });
    await eventually(async () => expect(await waiting.count()).toBe(2));
    taken.resolve();
    await eventually(async () => expect(await waiting.count()).toBe(0));
    await page.locator(".row-input", { hasText: "from here" }).waitFor();
    await context.close();
  } finally {
    await own.close();
  }
});

test("a tool call and a plan are seen to go on, in their place", async () => {
  const slow: Provider = {
    manifest: create(ProviderManifestSchema, {
      id: "slow",
      version: "1",
      topologies: [Topology.EMBEDDED],
      capabilities: { "input.steer": SupportLevel.NATIVE },
    }),
    async run(context) {
      const plan = (state: PlanEntryState) =>
        context.emit({ case: "planUpdated", value: { entries: [{ content: "Look around", state }] } });
      await plan(PlanEntryState.IN_PROGRESS);
      await context.emit({ case: "toolCallStarted", value: { toolCallId: "1", name: "look" } });
      for await (const _ of context.steers()) break;
      await context.emit({ case: "toolCallCompleted", value: { toolCallId: "1", error: "it is dark" } });
      await plan(PlanEntryState.COMPLETED);
      return { status: "succeeded" };
    },
  };
  const own = await openSite({ providers: [slow] });
  try {
    const { execution } = await own.client.executions.startExecution({ providerId: "slow", input: { text: "Look" } });
    const { page, context } = await openTab(browser);
    await page.goto(`${own.url}/#/executions/${execution?.id}`);
    const timeline = page.getByRole("region", { name: "Timeline" });
    await timeline.getByRole("button", { name: /^look\s*running/ }).waitFor();
    await timeline.locator(".step-in_progress").waitFor();
    await page.getByRole("textbox", { name: "Steer this execution" }).fill("go on");
    await page.keyboard.press("Enter");
    await timeline.getByRole("button", { name: /^look\s*failed/ }).waitFor();
    await timeline.getByText("it is dark").waitFor();
    await timeline.locator(".step-completed").waitFor();
    await context.close();
  } finally {
    await own.close();
  }
});

describe("the list of executions", () => {
  test("follows every execution by one stream, and is filtered by state, provider and label", async () => {
    const { page, context } = await openTab(browser);
    const streams: string[] = [];
    page.on("request", (request) => {
      if (/\/Watch/.test(request.url())) streams.push(request.url());
    });
    await page.goto(`${site.url}/#/executions?labels=team%3Dlive`);
    await page.getByText("No execution matches.").waitFor();
    const id = await startScript(site, "Watch me", [{ await_steer: true }], { labels: { team: "live" } });
    const row = page.getByRole("link", { name: /Watch me/ });
    await row.getByText("Running").waitFor();
    await site.client.executions.cancelExecution({ executionId: id, reason: "enough" });
    await row.getByText("Cancelled").waitFor();
    expect(streams).toHaveLength(1);
    await page.getByRole("button", { name: "Succeeded" }).click();
    await page.getByText("No execution matches.").waitFor();
    await page.getByRole("button", { name: "Cancelled" }).click();
    await row.waitFor();
    await page.getByLabel("Provider").selectOption("scripted");
    await row.waitFor();
    expect(page.url()).toContain("state=cancelled&provider=scripted&labels=team%3Dlive");
    await context.close();
  });
});

describe("of more executions than are watched whole", () => {
  const TOTAL = 1_150;

  test("the newest are there at once, the others as one scrolls, and what happens is still seen", async () => {
    const many = await openSite();
    try {
      for (let started = 0; started < TOTAL; started += 50) {
        await Promise.all(Array.from({ length: 50 }, (_, index) => startScript(many, `Number ${started + index}`, [])));
      }
      const { page, context } = await openTab(browser);
      const pages: string[] = [];
      page.on("request", (request) => {
        if (request.url().endsWith("/ListExecutions")) pages.push(request.url());
      });
      await page.goto(many.url);
      await page.getByText("Number 1149", { exact: true }).first().waitFor();
      const id = await startScript(many, "The last", [{ await_steer: true }]);
      const row = page.getByRole("link", { name: /The last/ });
      await row.getByText("Running").waitFor();
      await many.client.executions.cancelExecution({ executionId: id });
      await row.getByText("Cancelled").waitFor();
      const list = page.getByRole("region", { name: "Executions" });
      await eventually(async () => {
        await list.evaluate((element) => {
          element.scrollTop = element.scrollHeight;
        });
        expect(await page.getByText("Number 0", { exact: true }).count()).toBeGreaterThan(0);
      });
      expect(pages.length).toBeGreaterThan(10);
      await context.close();
    } finally {
      await many.close();
    }
  }, 60_000);
});

describe("the keyboard", () => {
  test("reaches every place, finds commands by a few letters, and can be told to leave single keys alone", async () => {
    const { page, context } = await openTab(browser);
    await page.goto(site.url);
    await page.getByRole("heading", { name: "Executions" }).waitFor();
    for (const [keys, name] of [
      ["gi", "Inbox"],
      ["gp", "Providers"],
      ["gr", "Runtime"],
      ["n", "Start an execution"],
      ["", "Start an execution"],
    ] as const) {
      await page.locator("main").focus();
      for (const key of keys) await page.keyboard.press(key);
      await page.getByRole("heading", { name, level: 1 }).waitFor();
    }
    await page.keyboard.press("Control+k");
    await page.keyboard.type("inb");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();
    await page.keyboard.press("?");
    await page.getByLabel("Keys without Control").uncheck();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("n");
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Commands" }).waitFor();
    expect(page.url()).toContain("#/inbox");
    await context.close();
  });
});
