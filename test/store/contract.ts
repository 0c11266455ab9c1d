import { describe } from "vitest";
import { describeAppends } from "./contract-append.js";
import { describeLifetime } from "./contract-close.js";
import { describeIdempotency } from "./contract-idempotency.js";
import { describeLists } from "./contract-list.js";
import { describeModel } from "./contract-model.js";
import { describeOwnership } from "./contract-ownership.js";
import { describeReads } from "./contract-read.js";
import { describeSideRows } from "./contract-side.js";
import { describeTrim } from "./contract-trim.js";
import type { OpenStore } from "./fixtures.js";

/**
 * The definition of the port `Store`: what it promises is tested here, against
 * every store there is. `open` gives an empty store of its own at each call.
 */
export function testStoreContract(open: OpenStore): void {
  describe("append", () => describeAppends(open));
  describe("idempotency", () => describeIdempotency(open));
  describe("read", () => describeReads(open));
  describe("side rows", () => describeSideRows(open));
  describe("lists", () => describeLists(open));
  describe("ownership", () => describeOwnership(open));
  describe("trim", () => describeTrim(open));
  describe("lifetime", () => describeLifetime(open));
  describe("against a model", () => describeModel(open));
}
