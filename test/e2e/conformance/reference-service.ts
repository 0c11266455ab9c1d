import { create, type DescMessage, type DescService, type FileRegistry, type Message } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { type Code, ConnectError, type HandlerContext } from "@connectrpc/connect";

/** The messages of `connectrpc.conformance.v1` that matter here; the files themselves come with the runner. */
interface Header {
  readonly name: string;
  readonly value: readonly string[];
}
interface Failure {
  readonly code: Code;
  readonly message?: string;
  readonly details: readonly Any[];
}
interface UnaryDefinition {
  readonly responseHeaders: readonly Header[];
  readonly responseTrailers: readonly Header[];
  readonly responseDelayMs: number;
  readonly response: { readonly case?: "responseData" | "error"; readonly value?: Uint8Array | Failure };
}
interface StreamDefinition {
  readonly responseHeaders: readonly Header[];
  readonly responseTrailers: readonly Header[];
  readonly responseDelayMs: number;
  readonly responseData: readonly Uint8Array[];
  readonly error?: Failure;
}
type UnaryRequest = Message & { readonly responseDefinition?: UnaryDefinition };
type StreamRequest = Message & { readonly responseDefinition?: StreamDefinition; readonly fullDuplex?: boolean };

/** What a message is made from. */
type Fields = Record<string, unknown>;

const PACKAGE = "connectrpc.conformance.v1";

/** The service that the Connect project's conformance runner calls, by the rules in its documentation. */
export function referenceService(registry: FileRegistry): { service: DescService; implementation: object } {
  const service = registry.getService(`${PACKAGE}.ConformanceService`);
  const requestInfoSchema = registry.getMessage(`${PACKAGE}.ConformancePayload.RequestInfo`);
  if (service === undefined || requestInfoSchema === undefined) throw new Error("not the files of the runner");
  const reference = new Reference(registry, requestInfoSchema);
  const implementation = {
    unary: (request: UnaryRequest, context: HandlerContext) => reference.unary([request], context),
    idempotentUnary: (request: UnaryRequest, context: HandlerContext) => reference.unary([request], context),
    clientStream: async (requests: AsyncIterable<UnaryRequest>, context: HandlerContext) =>
      reference.unary(await Array.fromAsync(requests), context),
    serverStream: (request: StreamRequest, context: HandlerContext) => reference.stream(one(request), context),
    bidiStream: (requests: AsyncIterable<StreamRequest>, context: HandlerContext) =>
      reference.stream(requests, context),
  };
  return { service, implementation };
}

async function* one<T>(item: T): AsyncGenerator<T> {
  yield item;
}

class Reference {
  constructor(
    private readonly registry: FileRegistry,
    private readonly requestInfoSchema: DescMessage,
  ) {}

  async unary(requests: readonly UnaryRequest[], context: HandlerContext): Promise<object> {
    const definition = requests[0]?.responseDefinition;
    const requestInfo = this.requestInfo(requests, context);
    if (definition === undefined) return { payload: { requestInfo } };
    setHeaders(definition, context);
    await wait(definition.responseDelayMs);
    const { case: kind, value } = definition.response;
    if (kind === "error") throw this.toError(value as Failure, requestInfo);
    return { payload: { requestInfo, data: value ?? new Uint8Array() } };
  }

  /** One response for each request while the stream is full duplex; the rest once the requests have ended. */
  async *stream(requests: AsyncIterable<StreamRequest>, context: HandlerContext): AsyncGenerator<object> {
    const seen: StreamRequest[] = [];
    let sent = 0;
    for await (const request of requests) {
      seen.push(request);
      const first = seen[0]?.responseDefinition;
      if (seen.length === 1 && first !== undefined) setHeaders(first, context);
      if (seen[0]?.fullDuplex !== true) continue;
      if (first === undefined || sent >= first.responseData.length) break;
      yield await this.response(first, sent, sent === 0 ? this.requestInfo([request], context) : this.echo([request]));
      sent++;
    }
    const definition = seen[0]?.responseDefinition;
    if (definition === undefined) return;
    for (; sent < definition.responseData.length; sent++) {
      yield await this.response(definition, sent, sent === 0 ? this.requestInfo(seen, context) : undefined);
    }
    if (definition.error === undefined) return;
    if (sent === 0) await wait(definition.responseDelayMs);
    throw this.toError(definition.error, sent === 0 ? this.requestInfo(seen, context) : undefined);
  }

  private async response(
    definition: StreamDefinition,
    index: number,
    requestInfo: Fields | undefined,
  ): Promise<object> {
    await wait(definition.responseDelayMs);
    const data = definition.responseData[index];
    return { payload: requestInfo === undefined ? { data } : { data, requestInfo } };
  }

  private echo(requests: readonly Message[]): Fields {
    return { requests: requests.map((request) => anyPack(this.schemaOf(request), request)) };
  }

  private requestInfo(requests: readonly Message[], context: HandlerContext): Fields {
    const timeoutMs = context.timeoutMs();
    const query = [...new URL(context.url).searchParams].map(([name, value]) => ({ name, value: [value] }));
    return {
      ...this.echo(requests),
      requestHeaders: [...context.requestHeader].map(([name, value]) => ({ name, value: value.split(", ") })),
      ...(timeoutMs === undefined ? {} : { timeoutMs: BigInt(Math.max(0, Math.round(timeoutMs))) }),
      ...(context.requestMethod === "GET" ? { connectGetInfo: { queryParams: query } } : {}),
    };
  }

  private toError({ code, message = "", details }: Failure, requestInfo: Fields | undefined): ConnectError {
    const given = details.flatMap((detail) => {
      const desc = this.registry.getMessage(detail.typeUrl.slice(detail.typeUrl.lastIndexOf("/") + 1));
      return desc === undefined ? [] : [{ desc, packed: detail }];
    });
    const error = new ConnectError(message, code);
    error.details = given.map(({ packed }) => ({ type: packed.typeUrl.replace(/^.*\//, ""), value: packed.value }));
    if (requestInfo === undefined) return error;
    const packed = anyPack(this.requestInfoSchema, create(this.requestInfoSchema, requestInfo));
    error.details.push({ type: this.requestInfoSchema.typeName, value: packed.value });
    return error;
  }

  private schemaOf(message: Message): DescMessage {
    const schema = this.registry.getMessage(message.$typeName);
    if (schema === undefined) throw new Error(`no message ${message.$typeName}`);
    return schema;
  }
}

function setHeaders(
  definition: Pick<UnaryDefinition, "responseHeaders" | "responseTrailers">,
  context: HandlerContext,
) {
  for (const { name, value } of definition.responseHeaders) {
    for (const each of value) context.responseHeader.append(name, each);
  }
  for (const { name, value } of definition.responseTrailers) {
    for (const each of value) context.responseTrailer.append(name, each);
  }
}

async function wait(delayMs: number): Promise<void> {
  if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
}
