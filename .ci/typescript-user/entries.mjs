// Prints a program that imports every entry of the installed package.
import { readFileSync } from "node:fs";

const { exports } = JSON.parse(readFileSync("node_modules/harness-runtime/package.json", "utf8"));
const entries = Object.keys(exports).filter((entry) => !(entry.includes("*") || entry.endsWith(".json")));
entries.forEach((entry, i) => {
  console.log(`export * as entry${i} from "harness-runtime${entry.slice(1)}";`);
});
