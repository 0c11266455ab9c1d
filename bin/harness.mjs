#!/usr/bin/env node
// @ts-check
// The command `harness`: finds a Node that is new enough, builds in a clone where the sources have changed, and runs the program.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { become, findNode } from "./node.mjs";

const self = fileURLToPath(import.meta.url);
const root = dirname(dirname(self));

/** @returns {Promise<void>} */
async function launch() {
  const node = findNode();
  if (node !== process.execPath) return become(node, [self, ...process.argv.slice(2)]);
  if (existsSync(join(root, "src"))) {
    const { buildIfStale } = await import("../scripts/build.mjs");
    buildIfStale(root);
  }
  await import(pathToFileURL(join(root, "dist", "src", "cli", "main.js")).href);
}

launch().catch((error) => {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
});
