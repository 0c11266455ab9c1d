import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { sourceArgs } from "../support/run-source.js";

const collector = new URL("../../src/cli/serve/collector.ts", import.meta.url);

test("the collector is told nothing that this Node does not know", () => {
  const node = [...sourceArgs(collector).slice(0, -1), "--input-type=module", "--eval"];
  const program = `import { countBuffersWithHeap } from ${JSON.stringify(collector.href)}; countBuffersWithHeap();`;
  const { status, stderr } = spawnSync(process.execPath, [...node, program], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});
