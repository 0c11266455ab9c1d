import { type Client, Code, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { signal } from "@preact/signals";
import { Health } from "../../gen/ts/grpc/health/v1/health_pb.js";
import { createClientFor, type HarnessClient } from "../client/client.js";
import { isRetryable, reasonOf, toRpcError } from "../client/errors.js";
import { wholeFetch } from "../client/whole-fetch.js";
import { readStored, writeStored } from "./stored.js";

const TOKEN_KEY = "harness.token";

/** The bearer token of this page; empty where none was entered. */
const token = signal(readToken());

/** Whether the server has refused to answer without a (better) token. */
export const tokenWanted = signal(false);

/** Whether a token is in use. */
export const tokenUsed = signal(token.value !== "");

/** Counts the tokens that were entered: whatever was refused begins anew with each. */
export const generation = signal(0);

/** The address that every call goes to: that of the page, without its last part. */
export const baseUrl: string = new URL(".", location.href).href.replace(/\/$/, "");

/** Counts the calls that no server answered: health is then asked for at once. */
export const unanswered = signal(0);

const authorize: Interceptor = (next) => async (request) => {
  if (token.value !== "") request.header.set("Authorization", `Bearer ${token.value}`);
  try {
    return await next(request);
  } catch (error) {
    noteRefusal(error);
    if (request.service.typeName !== Health.typeName && isUnanswered(error)) unanswered.value++;
    throw error;
  }
};

const transport = createConnectTransport({
  baseUrl,
  interceptors: [authorize],
  useBinaryFormat: true,
  fetch: wholeFetch,
});

/** The runtime that served this page. */
export const client: HarnessClient = createClientFor(transport, false, {
  retry: { callGiveUpMs: 5_000, streamGiveUpMs: Number.POSITIVE_INFINITY },
});

/** The runtime's health service, which needs no token. */
export const health: Client<typeof Health> = createClient(Health, transport);

/** Uses a token from now on: for as long as the tab is open, or with `keep` until it is forgotten. */
export function enterToken(text: string, keep: boolean): void {
  forgetStored();
  writeStored(keep ? "localStorage" : "sessionStorage", TOKEN_KEY, text);
  setToken(text);
}

/** Forgets the token, here and on this device. */
export function forgetToken(): void {
  forgetStored();
  setToken("");
}

/** Notes that a call was refused for want of a token. The errors of a stream are seen by no interceptor. */
export function noteRefusal(error: unknown): void {
  if (toRpcError(error).code === Code.Unauthenticated) tokenWanted.value = true;
}

/** Whether a call failed with nobody to say why, as without a network or a server. */
export function isUnanswered(error: unknown): boolean {
  return isRetryable(error) && reasonOf(error) === undefined;
}

function setToken(text: string): void {
  token.value = text;
  tokenUsed.value = text !== "";
  tokenWanted.value = false;
  generation.value++;
}

function readToken(): string {
  return readStored("sessionStorage", TOKEN_KEY) ?? readStored("localStorage", TOKEN_KEY) ?? "";
}

function forgetStored(): void {
  writeStored("sessionStorage", TOKEN_KEY, undefined);
  writeStored("localStorage", TOKEN_KEY, undefined);
}
