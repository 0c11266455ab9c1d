import { afterAll } from "vitest";
import { testCases } from "../../wire/cases.js";
import { startClients } from "./clients.js";

const { clients, close } = startClients();
afterAll(close);

testCases(() => clients);
