import { describe } from "vitest";
import { openMemoryStore } from "../../src/store/memory.js";
import { testStoreContract } from "./contract.js";

describe("memory store", () => {
  testStoreContract(async () => openMemoryStore());
});
