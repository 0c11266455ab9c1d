// @ts-check
// usage: node .ci/count.mjs FOLDER      prints what failed and "N passed, N failed", and exits with 1 where one failed
// Counts the reports of the steps. A step that leaves no report, or that failed though its reports did not, counts as one test.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { failures } from "./failures.mjs";

/** @typedef {{ passed: number, failed: number }} Count */

/** By how a report's name ends. @type {Readonly<Record<string, (text: string) => Count>>} */
const FORMATS = { ".vitest.json": countVitest, ".gotest.json": countGoTest, ".junit.xml": countJunit };

/** Vitest's JSON report. @param {string} text @returns {Count} */
export function countVitest(text) {
  /** @type {{ numPassedTests: number, numFailedTests: number, numFailedTestSuites: number, success: boolean }} */
  const report = JSON.parse(text);
  const failed = report.numFailedTests || (report.success ? 0 : 1);
  return { passed: report.numPassedTests, failed };
}

/** The lines of `go test -json`: what fails to build counts once for its package. @param {string} text @returns {Count} */
export function countGoTest(text) {
  /** @type {readonly { Action: string, Test?: string, Package?: string }[]} */
  const events = text
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
  const failedTests = events.filter(({ Action, Test }) => Action === "fail" && Test !== undefined);
  const packages = new Set(failedTests.map(({ Package }) => Package));
  const unbuilt = events.filter(
    ({ Action, Test, Package }) => Action === "fail" && Test === undefined && !packages.has(Package),
  );
  const passed = events.filter(({ Action, Test }) => Action === "pass" && Test !== undefined).length;
  return { passed, failed: failedTests.length + unbuilt.length };
}

/** JUnit's XML, as pytest writes it. @param {string} text @returns {Count} */
export function countJunit(text) {
  const count = { passed: 0, failed: 0 };
  for (const [suite] of text.matchAll(/<testsuite\s[^>]*>/g)) {
    const failed = attribute(suite, "failures") + attribute(suite, "errors");
    count.failed += failed;
    count.passed += attribute(suite, "tests") - failed - attribute(suite, "skipped");
  }
  return count;
}

/** @param {string} element @param {string} name */
function attribute(element, name) {
  return Number(new RegExp(`\\s${name}="(\\d+)"`).exec(element)?.[1] ?? 0);
}

/**
 * The sum over steps and reports. A report belongs to the step whose name its own name starts with.
 * @param {string} steps lines of a step's name, a tab and its exit code
 * @param {readonly { name: string, text: string }[]} reports
 * @returns {Count}
 */
export function total(steps, reports) {
  const sum = { passed: 0, failed: 0 };
  for (const line of steps.split("\n").filter((text) => text !== "")) {
    const [name = "", status] = line.split("\t");
    const counts = reports.filter((report) => report.name.startsWith(`${name}.`)).map(countReport);
    const passed = counts.reduce((n, count) => n + count.passed, 0);
    const failed = counts.reduce((n, count) => n + count.failed, 0);
    sum.passed += status === "0" && passed + failed === 0 ? 1 : passed;
    sum.failed += status !== "0" && failed === 0 ? 1 : failed;
  }
  return sum;
}

/** A report that cannot be read, of a step that was stopped while it wrote, counts as one failure. @param {{ name: string, text: string }} report @returns {Count} */
function countReport({ name, text }) {
  const format = Object.keys(FORMATS).find((ending) => name.endsWith(ending));
  try {
    return FORMATS[format ?? ""]?.(text) ?? { passed: 0, failed: 0 };
  } catch {
    return { passed: 0, failed: 1 };
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2] ?? ".";
  // Folders hold what is kept to be looked at, such as pictures.
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  const reports = files.map(({ name }) => ({ name, text: readFileSync(join(folder, name), "utf8") }));
  const steps = reports.find(({ name }) => name === "steps.tsv")?.text ?? "";
  for (const line of failures(steps, reports)) console.log(`failed: ${line}`);
  const { passed, failed } = total(steps, reports);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
