import { describe, expect, test } from "vitest";
import { countGoTest, countJunit, countVitest, total } from "../../.ci/count.mjs";

const vitest = (passed: number, failed: number, success = failed === 0): string =>
  JSON.stringify({ numPassedTests: passed, numFailedTests: failed, success });

describe("what a report says", () => {
  test.each([
    ["all passed", vitest(5, 0), { passed: 5, failed: 0 }],
    ["one failed", vitest(5, 1), { passed: 5, failed: 1 }],
    ["a file that cannot be loaded", vitest(5, 0, false), { passed: 5, failed: 1 }],
  ])("Vitest: %s", (_, text, count) => {
    expect(countVitest(text)).toEqual(count);
  });

  test.each([
    ["all passed", ["pass p TestA", "pass p TestA/sub", "pass p"], { passed: 2, failed: 0 }],
    [
      "a failed test is counted, its package is not",
      ["fail p TestA", "pass p TestB", "fail p"],
      { passed: 1, failed: 1 },
    ],
    ["a package that does not build", ["fail p", "pass q TestC", "pass q"], { passed: 1, failed: 1 }],
    ["a skipped test is neither", ["skip p TestA", "pass p"], { passed: 0, failed: 0 }],
  ])("Go: %s", (_, events, count) => {
    const lines = events.map((event) => {
      const [Action, Package, Test] = event.split(" ");
      return JSON.stringify({ Action, Package, Test });
    });
    expect(countGoTest(`# build output\n${lines.join("\n")}\n`)).toEqual(count);
  });

  test("JUnit: suites are added up, skipped tests are neither", () => {
    const suite = (tests: number, failures: number, errors: number, skipped: number): string =>
      `<testsuite name="pytest" errors="${errors}" failures="${failures}" skipped="${skipped}" tests="${tests}" time="1"><testcase/></testsuite>`;
    const text = `<?xml version="1.0"?><testsuites name="all">${suite(7, 1, 2, 1)}${suite(2, 0, 0, 0)}</testsuites>`;
    expect(countJunit(text)).toEqual({ passed: 5, failed: 3 });
  });
});

describe("the total", () => {
  test.each([
    ["a step without a report is one test", "10-a\t0\n20-b\t1\n", {}, { passed: 1, failed: 1 }],
    ["a step's reports stand for it", "10-a\t0\n", { "10-a.vitest.json": vitest(5, 0) }, { passed: 5, failed: 0 }],
    ["failed tests fail their step once", "10-a\t1\n", { "10-a.vitest.json": vitest(5, 2) }, { passed: 5, failed: 2 }],
    ["a step may fail beside its tests", "10-a\t1\n", { "10-a.vitest.json": vitest(5, 0) }, { passed: 5, failed: 1 }],
    ["a report may be cut short", "10-a\t124\n", { "10-a.vitest.json": '{ "numPass' }, { passed: 0, failed: 1 }],
    [
      "a step may leave several reports",
      "10-a\t0\n",
      { "10-a.vitest.json": vitest(1, 0), "10-a.more.vitest.json": vitest(2, 0) },
      { passed: 3, failed: 0 },
    ],
    ["nothing ran", "", {}, { passed: 0, failed: 0 }],
  ])("%s", (_, steps, files: Record<string, string>, count) => {
    const reports = Object.entries(files).map(([name, text]) => ({ name, text }));
    expect(total(steps, reports)).toEqual(count);
  });
});
