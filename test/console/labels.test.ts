import { expect, test } from "vitest";
import { parseLabels } from "../../src/console/words/labels.js";

test.each([
  ["", {}],
  [" , ", {}],
  ["team=ops, env=", { team: "ops", env: "" }],
  ["urgent", { urgent: "" }],
  ["query=a=b==, x = y z ", { query: "a=b==", x: "y z" }],
])("labels are read as they are typed: %j", (text, labels) => {
  expect(parseLabels(text)).toEqual(labels);
});
