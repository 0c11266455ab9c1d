import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openFolder } from "./support/folder.js";
import { harness, serve, start } from "./support/processes.js";

const folder = openFolder("restart");

const THREADS = ["writer", "reader"] as const;

/** What a process loads to end one of its store's threads at SIGUSR2, as a lack of memory would; they start in this order. */
function endThreadAtSignal(name: (typeof THREADS)[number]): string {
  const source = `import { subscribe } from "node:diagnostics_channel";
    const threads = [];
    subscribe("worker_threads", ({ worker }) => threads.push(worker));
    process.on("SIGUSR2", () => threads[${THREADS.indexOf(name)}].terminate());`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

describe("a runtime that is started again", () => {
  test("keeps executions and open approvals over kill -9, in a folder that only its owner can read", async () => {
    const data = join(folder, "kept");
    const first = await serve([], data);
    const script = JSON.stringify({ steps: [{ approval: { title: "Go on?" } }, { text: "went on" }] });
    const { stdout } = await harness(["run", "scripted", "in", "--detach", "--config", script, "--url", first.url]);
    const id = stdout.trim();
    const watching = start(["watch", id, "--types", "action.required", "--url", first.url]);
    await watching.saw(/Go on\?/);
    first.running.child.kill("SIGKILL");
    await first.running.ended;
    expect(statSync(data).mode & 0o777).toBe(0o700);
    watching.child.kill();
    await watching.ended;

    const second = await serve([], data);
    expect((await harness(["respond", id, "--approve", "--url", second.url])).code).toBe(0);
    expect(await harness(["wait", id, "--url", second.url])).toMatchObject({ code: 0, stdout: "went on\n" });
    await second.stop();
  });

  test.each(["SIGKILL", "SIGTERM"] as const)("wait goes on over a restart after %s", async (signal) => {
    const data = join(folder, `awaited-${signal}`);
    const first = await serve([], data);
    const script = JSON.stringify({ steps: [{ approval: { title: "Go on?" } }, { text: "went on" }] });
    const { stdout } = await harness(["run", "scripted", "in", "--detach", "--config", script, "--url", first.url]);
    const id = stdout.trim();
    const waiting = start(["wait", id, "--url", first.url]);
    // Longer than a client's patience, which must not count before anything fails.
    await delay(11_000);
    first.running.child.kill(signal);
    await first.running.ended;

    const second = await serve(["--port", new URL(first.url).port], data);
    expect((await harness(["respond", id, "--approve", "--url", second.url])).code).toBe(0);
    expect(await waiting.ended).toMatchObject({ code: 0, stdout: "went on\n" });
    await second.stop();
  });

  test("leaves what still runs after the grace to the next start", async () => {
    const data = join(folder, "handed-over");
    const first = await serve([], data);
    const script = JSON.stringify({ steps: [{ text: "one " }, { await_steer: true }] });
    const { stdout } = await harness(["run", "scripted", "in", "--detach", "--config", script, "--url", first.url]);
    const id = stdout.trim();
    const watching = start(["watch", id, "--url", first.url]);
    await watching.saw(/output\.text\.delta/);
    expect((await first.stop()).code).toBe(0);
    watching.child.kill();
    await watching.ended;

    const second = await serve([], data);
    expect((await harness(["send", id, "two", "--mode", "steer", "--url", second.url])).code).toBe(0);
    expect(await harness(["wait", id, "--url", second.url])).toMatchObject({ code: 0, stdout: "one two\n" });
    expect((await harness(["get", id, "--url", second.url])).stdout).toMatch(/^attempt, turn +2, 1$/m);
    await second.stop();
  });

  test.each(THREADS)("that lost its store's %s ends with 1 and the reason, and goes on", async (name) => {
    const data = join(folder, `lost-${name}`);
    const first = await serve([], data, { NODE_OPTIONS: `--import ${endThreadAtSignal(name)}` });
    const script = JSON.stringify({ steps: [{ approval: { title: "Go on?" } }, { text: "went on" }] });
    const running = start(["run", "scripted", "in", "--json", "--config", script, "--url", first.url]);
    await running.saw(/action_?[rR]equired/);
    first.running.child.kill("SIGUSR2");
    const { code, stderr } = await first.running.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/"error".*"the store is lost: ending"/);
    expect(stderr).toMatch(
      /^harness: the store is lost, start the server again: the thread that keeps .*harness\.db has ended/m,
    );

    const second = await serve(["--port", new URL(first.url).port], data);
    const { stdout } = await harness(["actions", "--json", "--url", second.url]);
    const { executionId } = JSON.parse(stdout);
    expect((await harness(["respond", executionId, "--approve", "--url", second.url])).code).toBe(0);
    expect((await running.ended).code).toBe(0);
    await second.stop();
  });

  test("that lost its data folder ends with 1, and says which file was removed and the way out", async () => {
    const data = join(folder, "removed");
    const { running } = await serve([], data);
    rmSync(data, { recursive: true });
    const { code, stderr } = await running.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/"error".*"the store is lost: ending"/);
    expect(stderr).toMatch(
      /^harness: the store is lost, start the server again: .*harness\.db was removed or replaced while the runtime used it; first put the data folder back, or restore a backup$/m,
    );
  });

  test("an outage is told once, and that it is over", async () => {
    const data = join(folder, "drained");
    const first = await serve([], data);
    const script = JSON.stringify({ steps: [{ text: "first " }, { approval: {} }, { text: "second" }] });
    const running = start(["run", "scripted", "in", "--config", script, "--url", first.url]);
    await running.saw(/first/);
    const [id = ""] = await running.saw(/exe_\w+/);
    const watching = start(["watch", id, "--types", "output.text.delta", "--url", first.url]);
    await watching.saw(/first/);
    await first.stop();
    await delay(2_000);
    const port = new URL(first.url).port;
    const second = await serve(["--port", port], data);
    expect((await harness(["respond", id, "--approve", "--url", second.url])).code).toBe(0);
    expect(await running.ended).toMatchObject({ code: 0, stdout: "first second\n" });
    for (const { stderr } of [await running.ended, await watching.ended]) {
      expect(stderr.match(/^(reconnecting|connected again)/gm)).toEqual(["reconnecting", "connected again"]);
    }
    await second.stop();
  });
});
