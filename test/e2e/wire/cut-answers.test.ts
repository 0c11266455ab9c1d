import { afterAll } from "vitest";
import { testCutAnswers } from "../../wire/cut-answers.js";
import { startClients } from "./clients.js";

const { clients, close } = startClients();
afterAll(close);

/** Connect in Python is the tests' own client, which shows the protocol and not how a cut is told. */
const OF_A_LIBRARY = clients.filter(({ name }) => name !== "Python over Connect over HTTP/1.1, JSON");

const GAP = "connect-go takes the HTTP status of a refusal whose body was cut for its code: 404 is UNIMPLEMENTED";

testCutAnswers(() =>
  OF_A_LIBRARY.map((client) => ({
    ...client,
    refusalGap: client.name.startsWith("Go over Connect") ? GAP : undefined,
  })),
);
