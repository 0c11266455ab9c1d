import { askTypeScript, TRANSPORTS } from "./ask.js";
import { testCutAnswers } from "./cut-answers.js";

testCutAnswers(() =>
  Object.keys(TRANSPORTS).map((protocol) => ({ name: `TypeScript over ${protocol}`, protocol, ask: askTypeScript })),
);
