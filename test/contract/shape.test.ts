import type { DescFile, DescMessage, DescMethod } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { file_harnessruntime_provider_v1_provider_service } from "../../gen/ts/harnessruntime/provider/v1/provider_service_pb.js";
import { file_harnessruntime_v1_action_service } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { file_harnessruntime_v1_conversation_service } from "../../gen/ts/harnessruntime/v1/conversation_service_pb.js";
import { EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { file_harnessruntime_v1_execution_service } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { file_harnessruntime_v1_runtime_service } from "../../gen/ts/harnessruntime/v1/runtime_service_pb.js";

const files = ownFiles([
  file_harnessruntime_v1_runtime_service,
  file_harnessruntime_v1_conversation_service,
  file_harnessruntime_v1_execution_service,
  file_harnessruntime_v1_action_service,
  file_harnessruntime_provider_v1_provider_service,
]);
const methods: readonly DescMethod[] = files.flatMap((file) => file.services.flatMap((service) => service.methods));
const messages: readonly DescMessage[] = files.flatMap((file) => file.messages);

function ownFiles(roots: readonly DescFile[]): readonly DescFile[] {
  const found = new Set<DescFile>();
  const visit = (file: DescFile): void => {
    if (found.has(file) || !file.proto.package.startsWith("harnessruntime.")) return;
    found.add(file);
    file.dependencies.forEach(visit);
  };
  roots.forEach(visit);
  return [...found];
}

describe("the contract's shape", () => {
  test("has the methods that callers and providers are told of", () => {
    expect(methods.map((method) => `${method.parent.name}.${method.name} ${method.methodKind}`)).toMatchSnapshot();
  });

  test("every unary read is without side effects, and nothing else is", () => {
    const reads = methods.filter(({ name }) => /^(Describe|Get|List|Wait)/.test(name));
    expect(methods.filter(({ idempotency }) => idempotency === Idempotency.NO_SIDE_EFFECTS)).toEqual(reads);
    expect(reads.every(({ methodKind }) => methodKind === "unary")).toBe(true);
  });

  test("every method has its own request and response, named for it", () => {
    for (const { name, input, output } of methods) {
      expect([input.name, output.name]).toEqual([`${name}Request`, `${name}Response`]);
    }
  });

  test("64-bit numbers are only sizes and money, so that all others are plain numbers in JSON", () => {
    const wide = [ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.FIXED64, ScalarType.SFIXED64];
    const fields = messages.flatMap((message) => message.fields);
    const names = fields.filter(({ scalar }) => scalar !== undefined && wide.includes(scalar));
    expect(names.map((field) => `${field.parent.name}.${field.name}`).sort()).toEqual([
      "Artifact.size_bytes",
      "Cost.micros",
    ]);
  });

  test("timestamps end in _time, but for the clock of an event and of a heartbeat", () => {
    const fields = messages.flatMap((message) => message.fields);
    const stamps = fields.filter(({ message }) => message?.typeName === "google.protobuf.Timestamp");
    const others = stamps.filter(({ name }) => !name.endsWith("_time"));
    expect(others.map((field) => `${field.parent.name}.${field.name}`).sort()).toEqual([
      "Event.time",
      "Heartbeat.time",
    ]);
  });

  test("envelopes use the numbers below 16 and their oneofs those from 20 on", () => {
    for (const message of messages.filter(({ oneofs }) => oneofs.some(({ fields }) => fields.length > 1))) {
      const numbers = message.fields.map(({ oneof, number }) =>
        oneof && oneof.fields.length > 1 ? number >= 20 : number < 16,
      );
      expect(numbers, message.typeName).not.toContain(false);
    }
  });
});

describe("the names of events", () => {
  const cases = EventSchema.oneofs.flatMap((oneof) => oneof.fields);

  test("the dotted name is the case with dots, and leads back to it", () => {
    const dotted = cases.map(({ name }) => name.replaceAll("_", "."));
    expect(new Set(dotted).size).toBe(cases.length);
    expect(dotted.map((name) => name.replaceAll(".", "_"))).toEqual(cases.map(({ name }) => name));
  });

  test("each case's message has the case's name", () => {
    const pascal = (name: string) => name.replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
    expect(cases.map(({ message }) => message?.name)).toEqual(cases.map(({ name }) => pascal(name)));
  });

  test("are these", () => {
    expect(cases.map(({ name, number }) => `${number} ${name.replaceAll("_", ".")}`)).toMatchSnapshot();
  });
});
