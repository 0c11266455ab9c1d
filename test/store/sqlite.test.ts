import { afterAll, describe } from "vitest";
import { openSqliteStore } from "../../src/store/sqlite.js";
import { testStoreContract } from "./contract.js";
import { makeFolder, removeFolders } from "./folders.js";

afterAll(removeFolders);

describe("sqlite store", () => {
  testStoreContract(() => openSqliteStore({ dataDir: makeFolder() }));
});
