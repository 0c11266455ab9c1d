import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import type { Store } from "../../src/core/store.js";
import { openSqliteStore } from "../../src/store/sqlite.js";
import { testConformance } from "./suite.js";
import { openLocalTarget, WIRES } from "./support/local-target.js";

const folder = mkdtempSync(join(tmpdir(), "harness-conformance-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
const openStore = (): Promise<Store> => openSqliteStore({ path: join(folder, `${count++}.db`), synchronous: "normal" });

describe("SQLite store, in process", () => {
  testConformance(async () => openLocalTarget(await openStore(), undefined), { bidi: true });
});

describe.each(WIRES)("SQLite store, $name", (wire) => {
  testConformance(async () => openLocalTarget(await openStore(), wire), wire);
});
