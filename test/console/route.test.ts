import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EXECUTION_TABS, hrefOf, NO_FILTER, parseRoute, type Route, STATE_GROUPS } from "../../src/console/route.js";

const text = fc.string({ unit: "grapheme", maxLength: 40 });
const routes: fc.Arbitrary<Route> = fc.oneof(
  fc.record({
    view: fc.constant("executions" as const),
    filter: fc.record({
      group: fc.constantFrom(...STATE_GROUPS),
      providerId: text,
      labels: text,
      conversationId: text,
    }),
  }),
  fc.record({
    view: fc.constant("execution" as const),
    id: fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }),
    tab: fc.constantFrom(...EXECUTION_TABS),
    sequence: fc.nat(),
  }),
  fc.record({ view: fc.constant("inbox" as const), closed: fc.boolean() }),
  fc.record({ view: fc.constant("start" as const), providerId: text, conversationId: text }),
  fc.record({ view: fc.constantFrom("providers" as const, "runtime" as const) }),
);

describe("an address", () => {
  test("says the whole of what is shown", () => {
    fc.assert(
      fc.property(routes, (route) => {
        expect(parseRoute(hrefOf(route))).toEqual(route);
      }),
    );
  });

  test.each(["", "#", "#/", "#/nowhere", "#/%E0%A4%A", "#/executions?state=odd"])(
    "%j leads to all executions",
    (hash) => {
      expect(parseRoute(hash)).toEqual({ view: "executions", filter: NO_FILTER });
    },
  );
});
