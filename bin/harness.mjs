#!/usr/bin/env node
// @ts-check
// The command `harness`: finds a Node that is new enough, builds in a clone where the sources have changed, and runs the program.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { become, findNode } from "./node.mjs";

const self = fileURLToPath(import.meta.url);
const root = dirname(dirname(self));

/** Makes this process able to run the program; false where another was started in its place, or none can be. */
async function prepare() {
  try {
    const node = findNode();
    if (node !== process.execPath) {
      become(node, [self, ...process.argv.slice(2)]);
      return false;
    }
    if (existsSync(join(root, "scripts", "build.mjs"))) {
      const { buildIfStale } = await import("../scripts/build.mjs");
      buildIfStale(root);
    }
    return true;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
    return false;
  }
}

if (await prepare()) await import(pathToFileURL(join(root, "dist", "src", "cli", "main.js")).href);
