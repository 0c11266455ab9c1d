import { askTypeScript, TRANSPORTS } from "./ask.js";
import { testCases } from "./cases.js";

testCases(() =>
  Object.keys(TRANSPORTS).map((protocol) => ({
    name: `TypeScript over ${protocol}`,
    protocol,
    bidi: !protocol.includes("HTTP/1.1"),
    ask: askTypeScript,
  })),
);
