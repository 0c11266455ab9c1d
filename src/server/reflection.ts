import {
  create,
  createRegistry,
  type DescFile,
  type DescMessage,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type Registry,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import {
  type ServerReflection,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "../../gen/ts/grpc/reflection/v1/reflection_pb.js";
import {
  ServerReflectionRequestSchema as RequestV1AlphaSchema,
  ServerReflectionResponseSchema as ResponseV1AlphaSchema,
  type ServerReflection as ServerReflectionV1Alpha,
} from "../../gen/ts/grpc/reflection/v1alpha/reflection_pb.js";

type Question = ServerReflectionRequest["messageRequest"];
type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>;

/** Tells clients that have no proto files what a server serves. */
export interface Reflection {
  readonly v1: ServiceImpl<typeof ServerReflection>;
  /** The older version, which most tools still ask first: other names, the same bytes. */
  readonly v1alpha: ServiceImpl<typeof ServerReflectionV1Alpha>;
}

/** `extra` are files that no service needs but readers of its errors do. */
export function createReflection(services: readonly DescService[], extra: readonly DescFile[] = []): Reflection {
  const files = new Map<string, DescFile>();
  for (const file of [...services.map((service) => service.file), ...extra]) collect(file, files);
  const registry = createRegistry(...files.values());
  const names = services.map(({ typeName }) => ({ name: typeName })).sort((a, b) => (a.name < b.name ? -1 : 1));

  const answer = ({ case: kind, value }: Question): Answer => {
    switch (kind) {
      case "listServices":
        return { case: "listServicesResponse", value: { service: names } };
      case "fileByFilename":
        return fileAnswer(files.get(value) ?? files.get(value.replace(/\.proto$/, "")), value);
      case "fileContainingSymbol":
        return fileAnswer(fileOfSymbol(registry, value.replace(/^\./, "")), value);
      case "fileContainingExtension":
        return fileAnswer(fileOfExtension(registry, value.containingType, value.extensionNumber), value.containingType);
      case "allExtensionNumbersOfType":
        return extensionsAnswer(registry, value);
      default:
        return errorAnswer(Code.InvalidArgument, "the request asks nothing");
    }
  };
  const respond = (request: ServerReflectionRequest): ServerReflectionResponse =>
    create(ServerReflectionResponseSchema, {
      validHost: request.host,
      originalRequest: request,
      messageResponse: answer(request.messageRequest),
    });
  return {
    v1: {
      async *serverReflectionInfo(requests) {
        for await (const request of requests) yield respond(request);
      },
    },
    v1alpha: {
      async *serverReflectionInfo(requests) {
        for await (const old of requests) {
          const request = fromBinary(ServerReflectionRequestSchema, toBinary(RequestV1AlphaSchema, old));
          yield fromBinary(ResponseV1AlphaSchema, toBinary(ServerReflectionResponseSchema, respond(request)));
        }
      },
    },
  };
}

function collect(file: DescFile, files: Map<string, DescFile>): void {
  if (files.has(file.proto.name)) return;
  files.set(file.proto.name, file);
  for (const dependency of file.dependencies) collect(dependency, files);
}

function fileAnswer(file: DescFile | undefined, asked: string): Answer {
  if (file === undefined) return errorAnswer(Code.NotFound, `not found: ${asked}`);
  const closure = new Map<string, DescFile>();
  collect(file, closure);
  const fileDescriptorProto = Array.from(closure.values(), ({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

function extensionsAnswer(registry: Registry, typeName: string): Answer {
  const extensionNumber = Array.from(registry)
    .flatMap((desc) => (desc.kind === "extension" && desc.extendee.typeName === typeName ? [desc.number] : []))
    .sort((a, b) => a - b);
  if (extensionNumber.length === 0 && registry.getMessage(typeName) === undefined) {
    return errorAnswer(Code.NotFound, `not found: ${typeName}`);
  }
  return { case: "allExtensionNumbersResponse", value: { baseTypeName: typeName, extensionNumber } };
}

function errorAnswer(errorCode: Code, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}

function fileOfExtension(registry: Registry, typeName: string, number: number): DescFile | undefined {
  for (const desc of registry) {
    if (desc.kind === "extension" && desc.extendee.typeName === typeName && desc.number === number) return desc.file;
  }
  return undefined;
}

/** Finds the file of a type, or of a method, field, oneof or enum value of one. */
function fileOfSymbol(registry: Registry, symbol: string): DescFile | undefined {
  const found = registry.get(symbol);
  if (found !== undefined) return found.file;
  const dot = symbol.lastIndexOf(".");
  const parent = dot < 0 ? undefined : registry.get(symbol.slice(0, dot));
  const name = symbol.slice(dot + 1);
  switch (parent?.kind) {
    case "service":
      return parent.methods.some((method) => method.name === name) ? parent.file : undefined;
    case "message":
      return hasMember(parent, name) ? parent.file : undefined;
    case "enum":
      return parent.values.some((value) => value.name === name) ? parent.file : undefined;
    default:
      return undefined;
  }
}

function hasMember(message: DescMessage, name: string): boolean {
  return message.fields.some((field) => field.name === name) || message.oneofs.some((oneof) => oneof.name === name);
}
