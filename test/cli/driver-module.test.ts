import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { readConfig } from "../../src/cli/config/read-config.js";
import { openDriverModule } from "../../src/cli/serve/driver-module.js";
import { createHarnessClient } from "../../src/client/node.js";
import { runToEnd } from "../../src/client/run.js";
import { openFolder } from "./support/folder.js";
import { harness, ROOT, serve } from "./support/processes.js";

const folder = openFolder("driver");
let count = 0;

/** Writes a module; returns its name from the folder. */
function write(code: string): string {
  const name = `driver-${++count}.mjs`;
  writeFileSync(join(folder, name), code);
  return `./${name}`;
}

const DRIVER = `{
  id: "mine",
  version: 3,
  capabilities: { controls: ["follow_up"], durable: false, policyCoverage: "local", controlledExecution: true },
  start: async ({ input }) => ({ text: "said " + input }),
}`;

describe("a module's default export", () => {
  test.each([
    ["a driver", `export default ${DRIVER};`, 64],
    [
      "an instance of a class",
      `class D { constructor() { Object.assign(this, ${DRIVER}); } }\nexport default new D();`,
      64,
    ],
    [
      "a driver and how it is served",
      `export default { driver: ${DRIVER}, grants: { toolIds: [], modelRoles: [] }, capacity: 2 };`,
      2,
    ],
    ["a function", `export default () => (${DRIVER});`, 64],
    [
      "a function that waits",
      `export default async ({ capacity }) => ({ driver: ${DRIVER}, capacity, grants: { toolIds: [], modelRoles: [] } });`,
      7,
    ],
  ])("may be %s", async (_, code, capacity) => {
    const config: JsonObject = code.includes("capacity, grants") ? { capacity: 7 } : {};
    const provider = await openDriverModule("its-key", { module: write(code), config }, folder);
    expect(provider.manifest).toMatchObject({ id: "its-key", name: "mine", version: "3" });
    expect(provider.capacity ?? 64).toBe(capacity);
    await provider.close?.();
  });

  test("may close what it opened", async () => {
    const served = `({ driver: ${DRIVER}, grants: { toolIds: [], modelRoles: [] }, close() { process.emit("closed", this.driver.id); } })`;
    const provider = await openDriverModule("x", { module: write(`export default () => ${served};`) }, folder);
    const closed = new Promise((resolve) => process.once("closed" as "exit", resolve));
    await provider.close?.();
    expect(await closed).toBe("mine");
  });
});

describe("what is wrong with a module is said in one line", () => {
  const served = (more: string): string => `{ driver: ${DRIVER}, grants: { toolIds: [], modelRoles: [] }, ${more} }`;
  const without = (part: string): string => DRIVER.replace(part, "");
  test.each([
    ["export default 1", {}, /gives no driver but number$/],
    ["export default null", {}, /gives no driver but null$/],
    ["export default () => undefined", {}, /gives no driver but undefined$/],
    ["export default {}", {}, /gives no driver: a driver has id, version, capabilities .* and start$/],
    [`export default ${DRIVER.replace("start:", "begin:")}`, {}, /gives no driver: a driver has id, .* and start$/],
    [`export default { driver: ${DRIVER} }`, {}, / grants: name toolIds and modelRoles, which may be empty$/],
    [
      `export default ${served("budgts: { maxModelCalls: 3 }")}`,
      {},
      /the key "budgts" is not known; did you mean budgets\?$/,
    ],
    [
      `export default ${served("budgets: { maxModelCals: 3 }")}`,
      {},
      /"budgets\.maxModelCals" .* did you mean maxModelCalls\?$/,
    ],
    [`export default ${without("version: 3,")}`, {}, /driver\.version: undefined is not an integer from 1$/],
    [`export default ${DRIVER.replace("durable: false", "durable: true")}`, {}, /the driver mine cannot resume/],
    [`export default ${DRIVER}`, { a: 1 }, /takes no config; export default a function of it .*$/],
    [`export const driver = ${DRIVER}`, {}, /has no default export; export default a driver, .*$/],
    ["export default async () => { throw 'no key' }", {}, /failed: no key$/],
  ])("%s", async (code, config, message) => {
    const module = write(code);
    const opening = openDriverModule("x", { module, config }, folder);
    await expect(opening).rejects.toThrow(message);
    await expect(opening).rejects.toThrow(new RegExp(`^module ${module}: `));
  });

  test.each([
    ["export default (", "cannot be loaded: Unexpected end of input", "node --check .* shows where"],
    ["const key = 1;\nthrow new Error('no key');", "cannot be loaded: no key", "file://.*mjs:2"],
    ["export default () => {\n throw new Error('no key') }", "failed: no key", "file://.*mjs:2"],
    ["import 'nowhere';", "cannot be loaded: Cannot find package 'nowhere' imported from .*mjs", undefined],
  ])("with its place in the module: %j", async (code, message, place) => {
    const file = join(folder, "throws.yaml");
    const module = write(code);
    writeFileSync(file, `providers: { driver: { mine: { module: ${module} } } }`);
    const { stderr } = await harness(["serve", "--port", "0", "--config", file, "--data", folder]);
    const end = place === undefined ? "" : ` \\(${place}\\)`;
    expect(stderr).toMatch(new RegExp(`^harness: .*: module ${module}: ${message}${end}\n$`));
  });

  test.each([
    ["export default () => new Promise(() => {});", "failed"],
    ["export default await new Promise(() => {});", "cannot be loaded"],
  ])("where it never settles: %j", async (code, what) => {
    const file = join(folder, "hangs.yaml");
    const module = write(code);
    writeFileSync(file, `providers: { driver: { mine: { module: ${module} } } }`);
    const ended = await harness(["serve", "--port", "0", "--config", file, "--data", folder]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(new RegExp(`^harness: .*: module ${module}: ${what}: it never settles: .*\\n$`));
  });

  test("with how a module elsewhere finds the package", async () => {
    const file = join(folder, "elsewhere.yaml");
    const module = write('import "harness-runtime";');
    writeFileSync(file, `providers: { driver: { mine: { module: ${module} } } }`);
    const { stderr } = await harness(["serve", "--port", "0", "--config", file, "--data", folder]);
    expect(stderr).toContain(`: cannot be loaded: Cannot find package 'harness-runtime' imported from ${folder}/`);
    expect(stderr).toMatch(new RegExp(`; run npm install ${ROOT} in ${folder}\\n$`));
  });

  test("by the server, which does not start and leaves nothing running, with the line of the configuration", async () => {
    const file = join(folder, "bad.yaml");
    const module = write("setInterval(() => {}, 1000);\nexport default {};");
    writeFileSync(file, `providers:\n  driver:\n    mine:\n      module: ${module}\n`);
    const { code, stdout, stderr } = await harness(["serve", "--port", "0", "--config", file, "--data", folder]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      new RegExp(`^harness: ${file}:\\d+: providers\\.driver\\.mine: module ${module}: gives no driver.*\\n$`),
    );
    writeFileSync(file, "providers: { driver: { mine: { module: ./none.mjs } } }");
    expect((await harness(["serve", "--port", "0", "--config", file, "--data", folder])).stderr).toBe(
      `harness: ${file}:1: providers.driver.mine: module ./none.mjs: there is no such file: ${folder}/none.mjs\n`,
    );
  });

  test.each([
    ["{ modul: ./x.mjs }", /providers\.driver\.mine\.modul: is not known; did you mean module\?/],
    ["{ config: {} }", /providers\.driver\.mine\.module: /],
    ["./x.mjs", /providers\.driver\.mine: must be a map of module, config/],
    ["{ module: [] }", /providers\.driver\.mine\.module: must be text, not \[\]/],
  ])("in the configuration %s", (settings, message) => {
    const file = join(folder, "settings.yaml");
    writeFileSync(file, `providers:\n  driver:\n    mine: ${settings}\n`);
    const read = () => readConfig({ file, env: {}, flags: [] });
    expect(read).toThrow(message);
    expect(read).toThrow(`${file}:3: `);
  });
});

test("the example's driver is served by its configuration: over gRPC it runs, asks, and ends as it was answered", async () => {
  const served = await serve(["--config", join(ROOT, "examples/embedded/harness.yaml")]);
  const client = createHarnessClient({ baseUrl: served.url });
  for (const [approved, output] of [
    [true, "Posted: Hello, Ada!"],
    [false, /^Not posted: /],
  ] as const) {
    const onAction = async () => ({ approved });
    const { state, finalOutput } = await runToEnd(
      client,
      { providerId: "greeter", input: { text: "Ada" } },
      { onAction },
    );
    expect(state).toBe(ExecutionState.SUCCEEDED);
    expect(finalOutput).toMatch(output);
  }
  expect(await served.stop()).toMatchObject({ code: 0 });
});

test("a driver whose module leaves something open does not keep a server that was stopped", async () => {
  const file = join(folder, "open.yaml");
  const module = write(`setInterval(() => {}, 1000);\nexport default ${DRIVER};`);
  writeFileSync(file, `providers: { driver: { mine: { module: ${module} } } }`);
  const served = await serve(["--config", file]);
  const client = createHarnessClient({ baseUrl: served.url });
  const { finalOutput } = await runToEnd(client, { providerId: "mine", input: { text: "hi" } });
  expect(finalOutput).toBe("said hi");
  expect(await served.stop()).toMatchObject({ code: 0 });
});
