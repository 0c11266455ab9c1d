import { type ConnectRouter, createContextValues } from "@connectrpc/connect";
import {
  assertByteStreamRequest,
  createAsyncIterable,
  type UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { HarnessError } from "../core/errors.js";
import type { Log } from "../core/provider.js";
import type { AccessPolicy, RequestSource } from "./access.js";
import { type ArrivalBounds, boundArrival } from "./arrival.js";
import { refuseBidi } from "./bidi-refusal.js";
import { transportedKey } from "./call.js";
import { allowOrigin, answerPreflight } from "./cors.js";
import { dropEndlessDeadline } from "./deadline.js";
import type { NodeRequest, NodeResponse } from "./listener.js";
import { queryFault } from "./query-fault.js";
import { respondText } from "./respond.js";
import { discardRest, lingerAfterAnswer } from "./unread-body.js";

type Handler = ConnectRouter["handlers"][number];

/** Serves what is not an RPC, such as the console's files. Returns false where it has nothing under that path. */
export type WebPages = (request: NodeRequest, response: NodeResponse) => boolean;

export interface AdapterOptions {
  readonly handlers: readonly Handler[];
  readonly access: AccessPolicy;
  readonly log: Log;
  readonly pages: WebPages | undefined;
  readonly arrival: ArrivalBounds;
  /** Whether its calls may stay open when the server goes away. */
  outlivesDrain(handler: Handler): boolean;
  nextErrorId(): string;
}

/** Between Node's HTTP servers and the RPC library. */
export interface Adapter {
  serve(request: NodeRequest, response: NodeResponse): void;
  /** Resolves when no call is open (those that outlive a drain may be ignored), or after `timeoutMs`. */
  idle(timeoutMs: number, outliving: "ignored" | "counted"): Promise<void>;
}

/** Methods whose responses are sent as stored, so never compressed. */
const UNCOMPRESSED: ReadonlySet<unknown> = new Set([
  ExecutionService.method.watchEvents,
  ExecutionService.method.attachExecution,
]);

export function createAdapter(options: AdapterOptions): Adapter {
  const byPath = new Map(options.handlers.map((handler) => [handler.requestPath, handler]));
  /** Open calls, counted: a map of them, ever growing and shrinking, would keep many alive until a full collection. */
  const open = { outliving: 0, others: 0 };
  const onClose = new Set<() => void>();

  const track = (handler: Handler, response: NodeResponse): void => {
    const kind = options.outlivesDrain(handler) ? "outliving" : "others";
    open[kind]++;
    // The RPC library's own promise may never settle; a response always closes.
    response.once("close", () => {
      open[kind]--;
      for (const look of onClose) look();
    });
  };
  const call = (handler: Handler, request: NodeRequest, response: NodeResponse, source: RequestSource): void => {
    track(handler, response);
    serveCall(handler, request, response, refusalOf(source, options.access), options.arrival).catch(
      (error: unknown) => {
        endFailed(error, handler, request, response, options);
      },
    );
  };

  return {
    serve(request, response) {
      // A connection that breaks is the client's affair; without a listener it would end the process.
      request.on("error", () => undefined);
      response.on("error", () => undefined);
      const source = sourceOf(request);
      allowOrigin(response, source, options.access);
      if (answerPreflight(request, response, source, options.access)) return;
      const handler = byPath.get(pathOf(request));
      if (handler === undefined) servePage(request, response, source, options);
      else if (handler.method.methodKind === "bidi_streaming" && request.httpVersionMajor === 1) {
        refuseBidi(handler.method, request, response);
      } else call(handler, request, response, source);
    },
    async idle(timeoutMs, outliving) {
      const isIdle = (): boolean => open.others === 0 && (outliving === "ignored" || open.outliving === 0);
      if (isIdle()) return;
      await new Promise<void>((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          onClose.delete(look);
          resolve();
        };
        const look = (): void => {
          if (isIdle()) done();
        };
        const timer = setTimeout(done, timeoutMs);
        onClose.add(look);
      });
    },
  };
}

async function serveCall(
  handler: Handler,
  request: NodeRequest,
  response: NodeResponse,
  refusal: HarnessError | undefined,
  arrival: ArrivalBounds,
): Promise<void> {
  const contextValues = createContextValues();
  const received = universalRequestFromNodeRequest(request, response, undefined, contextValues);
  assertByteStreamRequest(received);
  const universal = { ...received, body: boundArrival(received.body, handler.method, request, arrival) };
  const fault = refusal ?? (request.method === "GET" ? queryFault(universal.url) : undefined);
  contextValues.set(transportedKey, { response, fault });
  dropEndlessDeadline(universal.header);
  // A proxy such as nginx would keep a stream's first frames back until they fill a buffer.
  if (handler.method.methodKind !== "unary") response.setHeader("x-accel-buffering", "no");
  if (UNCOMPRESSED.has(handler.method)) {
    universal.header.set("grpc-accept-encoding", "identity");
    universal.header.set("connect-accept-encoding", "identity");
  }
  const answer = explained(await handler(universal), handler);
  if ("stream" in request || (await discardRest(request))) {
    await universalResponseToNodeResponse(answer, response);
    return;
  }
  const header = new Headers(answer.header);
  header.set("connection", "close");
  lingerAfterAnswer(request, request.socket);
  await universalResponseToNodeResponse({ ...answer, header }, response);
}

/** The RPC library refuses a content type, and a verb of HTTP, without a word. */
function explained(answer: UniversalServerResponse, { method }: Handler): UniversalServerResponse {
  const text =
    answer.status === METHOD_NOT_ALLOWED
      ? `use POST: ${method.name} is called with no other method`
      : contentTypes(method.methodKind);
  if (answer.status !== METHOD_NOT_ALLOWED && answer.status !== UNSUPPORTED_MEDIA_TYPE) return answer;
  const header = new Headers(answer.header);
  header.set("content-type", "text/plain; charset=utf-8");
  return { ...answer, header, body: createAsyncIterable([Buffer.from(`${text}\n`)]) };
}

const METHOD_NOT_ALLOWED = 405;
const UNSUPPORTED_MEDIA_TYPE = 415;

function contentTypes(kind: Handler["method"]["methodKind"]): string {
  return kind === "unary"
    ? "send content-type application/json, application/proto or application/grpc"
    : "a stream needs content-type application/connect+json or application/grpc; ListEvents gives events as plain JSON";
}

function refusalOf(source: RequestSource, access: AccessPolicy): HarnessError | undefined {
  const refusal = access.refuseHost(source) ?? access.refuseOrigin(source);
  return refusal === undefined ? undefined : new HarnessError(ErrorReason.PERMISSION_DENIED, refusal);
}

/** Ends a call that the RPC library gave up on: mostly its client is gone, and nobody is left to tell. */
function endFailed(
  error: unknown,
  handler: Handler,
  request: NodeRequest,
  response: NodeResponse,
  { log, nextErrorId }: AdapterOptions,
): void {
  const rpc = handler.method.name;
  const reason = error instanceof Error ? error.message : String(error);
  if (response.headersSent || isGone(request, response)) {
    log.debug({ rpc, error: reason }, "call broken off");
    return;
  }
  const errorId = nextErrorId();
  log.warn({ rpc, error: reason, error_id: errorId }, "request not understood");
  respondText(response, 400, `the request is not valid; the server's log has it under ${errorId}`);
}

/** Whether the client broke the call off. An HTTP/2 response does not say so itself. */
function isGone(request: NodeRequest, response: NodeResponse): boolean {
  if (request.aborted || response.destroyed) return true;
  return "stream" in response && (response.stream.destroyed || response.stream.aborted);
}

function servePage(request: NodeRequest, response: NodeResponse, source: RequestSource, options: AdapterOptions): void {
  const refusal = options.access.refuseHost(source);
  if (refusal !== undefined) respondText(response, 403, refusal);
  else if (options.pages?.(request, response) !== true) {
    respondText(response, 404, "nothing here: RPCs are at /PACKAGE.SERVICE/METHOD");
  }
}

function sourceOf(request: NodeRequest): RequestSource {
  const { headers, socket } = request;
  return {
    authority: "authority" in request && request.authority !== "" ? request.authority : headers.host,
    encrypted: "encrypted" in socket,
    origin: headers.origin,
    fetchSite: one(headers["sec-fetch-site"]),
  };
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function pathOf(request: NodeRequest): string {
  const url = request.url ?? "";
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}
