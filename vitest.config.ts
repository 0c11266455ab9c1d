import { configDefaults, defineConfig } from "vitest/config";

/** Set by `npm run soak`: the same tests with their full counts, so each may take long. */
const soak = process.env["SOAK"] === "1";

/** What a test may take. A build machine may be busy with other things. */
const patienceMs = process.env["CI"] === "true" ? 90_000 : 60_000;

/** A project is one folder of `test/`. Those in `ci` need more than Node: `npm test` leaves them out, `.ci/run` runs them. */
const projects = ["store", "conformance", "engine", "providers", "cli"];
const ci = ["e2e", "browser", "agents"];

/** What starts and ends processes by the hundred, or waits long for them: `npm test` leaves it out, `.ci/run` runs it. */
const processes = [
  "test/providers/acp/**",
  "test/providers/containment/**",
  "test/providers/agent-processes.test.ts",
  "test/cli/restart.test.ts",
];

/** The console is built once for all browser tests. */
const browser = { globalSetup: ["test/browser/support/build-console.ts"] };
/** A browser, a real agent or a load has the machine to itself. */
const oneAtATime = { fileParallelism: false };

export default defineConfig({
  test: {
    // Most tests wait for processes and streams, so a machine of two cores has room for more than two.
    maxWorkers: process.env["CI"] === "true" ? 3 : 4,
    testTimeout: soak ? 3_600_000 : patienceMs,
    hookTimeout: soak ? 600_000 : patienceMs,
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.{ts,tsx}"],
          exclude: [...projects, ...ci].map((folder) => `test/${folder}/**`),
        },
      },
      {
        extends: true,
        test: { name: "processes", include: processes.map((glob) => glob.replace(/\*\*$/, "**/*.test.ts")) },
      },
      ...[...projects, ...ci].map((folder) => ({
        extends: true as const,
        test: {
          name: folder,
          include: [`test/${folder}/**/*.test.{ts,tsx}`],
          exclude: [...configDefaults.exclude, ...processes],
          ...(folder === "browser" ? browser : {}),
          ...(ci.includes(folder) ? oneAtATime : {}),
        },
      })),
    ],
  },
});
