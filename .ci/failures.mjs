// @ts-check
// What failed, by name, so that the end of a log says it. Used by count.mjs.

/** By how a report's name ends. @type {Readonly<Record<string, (text: string) => string[]>>} */
const FORMATS = { ".vitest.json": ofVitest, ".gotest.json": ofGoTest, ".junit.xml": ofJunit };

/**
 * One line for each test that failed, and for each step that did.
 * @param {string} steps lines of a step's name, a tab and its exit code
 * @param {readonly { name: string, text: string }[]} reports
 * @returns {string[]}
 */
export function failures(steps, reports) {
  const failed = steps.split("\n").filter((line) => line !== "" && !line.endsWith("\t0"));
  return failed.flatMap((line) => {
    const [step = "", status] = line.split("\t");
    const tests = reports.filter(({ name }) => name.startsWith(`${step}.`)).flatMap(inReport);
    return [`${step}: ended with ${status}`, ...tests.map((test) => `${step}: ${test}`)];
  });
}

/** @param {{ name: string, text: string }} report */
function inReport({ name, text }) {
  const format = Object.keys(FORMATS).find((ending) => name.endsWith(ending));
  try {
    return FORMATS[format ?? ""]?.(text) ?? [];
  } catch {
    return [`${name} cannot be read`];
  }
}

/** @param {string} text */
function ofVitest(text) {
  /** @type {{ testResults?: { name: string, status: string, message: string, assertionResults: { status: string, fullName: string, failureMessages: string[] }[] }[] }} */
  const { testResults = [] } = JSON.parse(text);
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults.filter((result) => result.status === "failed");
    const file = name.replace(/^.*?\/(?=test\/)/, "");
    if (failed.length === 0) return status === "failed" ? [`${file}: ${firstLine(message)}`] : [];
    return failed.map((result) => `${file}: ${result.fullName}: ${firstLine(result.failureMessages[0])}`);
  });
}

/** @param {string} text */
function ofGoTest(text) {
  return text.split("\n").flatMap((line) => {
    if (!line.startsWith("{")) return [];
    /** @type {{ Action: string, Test?: string, Package?: string }} */
    const { Action, Test, Package } = JSON.parse(line);
    return Action === "fail" ? [[Package, Test].filter((part) => part !== undefined).join(" ")] : [];
  });
}

/** @param {string} text */
function ofJunit(text) {
  const cases = text.matchAll(/<testcase\s[^>]*?\sname="([^"]*)"[^>]*>\s*<(?:failure|error)\s+message="([^"]*)"/g);
  return [...cases].map(([, name, message]) => `${name}: ${firstLine(message?.replaceAll("&#10;", "\n"))}`);
}

/** @param {string | undefined} text */
function firstLine(text = "") {
  return text.split("\n", 1)[0]?.slice(0, 300) ?? "";
}
