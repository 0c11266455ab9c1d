import { describe, expect, test } from "vitest";
import { countGoTest, countJunit, countVitest, total } from "../../.ci/count.mjs";
import { failures } from "../../.ci/failures.mjs";

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

describe("what failed is said by name", () => {
  const result = (status: string, fullName: string, ...failureMessages: readonly string[]) => ({
    status,
    fullName,
    failureMessages,
  });
  const inFile = (status: string, message: string, ...assertionResults: readonly unknown[]): string =>
    JSON.stringify({ testResults: [{ name: "/home/me/repo/test/a/b.test.ts", status, message, assertionResults }] });

  test.each([
    ["a step without a report", "", "", "10-a: ended with 1"],
    [
      "a test of Vitest",
      "vitest.json",
      inFile("failed", "", result("failed", "adds up", "Error: 1 is not 2\n  at b.test.ts"), result("passed", "b")),
      "10-a: ended with 1\n10-a: test/a/b.test.ts: adds up: Error: 1 is not 2",
    ],
    [
      "a file that cannot be loaded",
      "vitest.json",
      inFile("failed", "Error: no such module\nat x"),
      "10-a: ended with 1\n10-a: test/a/b.test.ts: Error: no such module",
    ],
    [
      "a test of Go",
      "gotest.json",
      '{"Action":"fail","Package":"p","Test":"TestA"}\n{"Action":"pass","Package":"p","Test":"TestB"}\n',
      "10-a: ended with 1\n10-a: p TestA",
    ],
    [
      "a test of pytest",
      "junit.xml",
      '<testcase classname="t" name="test_a" time="0"><failure message="assert 1 == 2&#10; +1">t</failure></testcase><testcase classname="t" name="test_b" time="0"/>',
      "10-a: ended with 1\n10-a: test_a: assert 1 == 2",
    ],
    ["a report that was cut", "vitest.json", '{ "test', "10-a: ended with 1\n10-a: 10-a.vitest.json cannot be read"],
  ])("%s", (_, format, text, lines) => {
    const reports = format === "" ? [] : [{ name: `10-a.${format}`, text }];
    expect(failures("10-a\t1\n20-b\t0\n", reports).join("\n")).toBe(lines);
  });
});
