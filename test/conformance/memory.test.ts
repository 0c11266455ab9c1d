import { describe } from "vitest";
import { openMemoryStore } from "../../src/store/memory.js";
import { testConformance } from "./suite.js";
import { openLocalTarget, WIRES } from "./support/local-target.js";

describe("memory store, in process", () => {
  testConformance(() => openLocalTarget(openMemoryStore(), undefined), { bidi: true });
});

describe.each(WIRES)("memory store, $name", (wire) => {
  testConformance(() => openLocalTarget(openMemoryStore(), wire), wire);
});
