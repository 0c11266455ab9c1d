// @ts-check
// usage: node scripts/with-node.mjs COMMAND [ARGUMENT ...]
// Runs a command of this project, and what it starts in turn, with a Node that is new enough. Plain JavaScript for Node 18 and newer.
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { become, findNode } from "../bin/node.mjs";

const [command = "node", ...args] = process.argv.slice(2);
const bins = join(dirname(dirname(fileURLToPath(import.meta.url))), "node_modules", ".bin");

try {
  const path = [dirname(findNode()), bins, process.env["PATH"]].join(delimiter);
  become(command, args, { ...process.env, PATH: path });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
