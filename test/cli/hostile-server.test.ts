import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  type Message,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { StructSchema, TimestampSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { ActionRequestSchema } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { ActionService } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { type Execution, ExecutionSchema, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { ProviderSchema } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { RuntimeService } from "../../gen/ts/harnessruntime/v1/runtime_service_pb.js";
import { get, list, wait, watch } from "../../src/cli/commands/executions.js";
import { actions, providers } from "../../src/cli/commands/listings.js";
import { run } from "../../src/cli/commands/run.js";
import { cancel, respond, send } from "../../src/cli/commands/steer.js";
import { reportError } from "../../src/cli/report-error.js";

/** Sets a terminal's title, clears its screen, rings, and turns the direction of writing. */
const HOSTILE = "\u001b]0;owned\u0007\u001b[2J\u009b2J\u007f\u202a\u202etxt.exe\u2066\u2069";
const DEPTH = 3;

/** Returns a message with hostile text wherever it has room for some; a oneof is left unset. */
function hostile<D extends DescMessage>(schema: D, depth = 0): MessageShape<D> {
  if (schema.typeName === ValueSchema.typeName) return fromJson(schema, HOSTILE);
  if (schema.typeName === StructSchema.typeName) return fromJson(schema, { type: HOSTILE, [HOSTILE]: HOSTILE });
  const message = create(schema);
  if (depth < DEPTH && schema.typeName !== TimestampSchema.typeName) fill(reflect(schema, message), depth + 1);
  return message;
}

function fill(target: ReflectMessage, depth: number): void {
  for (const field of target.fields) {
    if (field.oneof !== undefined) continue;
    if (field.fieldKind === "message") target.set(field, reflect(field.message, hostile(field.message, depth)));
    else if (field.fieldKind === "list" && field.listKind === "message") {
      target.get(field).add(reflect(field.message, hostile(field.message, depth)));
    } else if (field.fieldKind === "map" && field.mapKind === "enum") target.get(field).set(HOSTILE, 1);
    else if ("scalar" in field && field.scalar === ScalarType.STRING) fillText(target, field);
  }
}

function fillText(target: ReflectMessage, field: DescField): void {
  if (field.fieldKind === "scalar") target.set(field, HOSTILE);
  else if (field.fieldKind === "list") target.get(field).add(HOSTILE);
  else if (field.fieldKind === "map") target.get(field).set(HOSTILE, HOSTILE);
}

/** One event of every kind, in order. */
function everyEvent() {
  const kinds = EventSchema.fields.filter(({ oneof }) => oneof !== undefined);
  const last = kinds.findIndex(({ localName }) => localName === "runFailed");
  const ordered = [...kinds.filter((_, index) => index !== last && !ends(kinds[index]!.localName)), kinds[last]!];
  return ordered.map(({ localName, message }, index) => ({
    ...hostile(EventSchema),
    sequence: index + 1,
    payload: { case: localName, value: hostile(message as DescMessage) as Message } as never,
  }));
}

const ends = (kind: string): boolean => kind === "runCompleted" || kind === "runCancelled" || kind === "runFailed";

function execution(state: ExecutionState): Execution {
  return Object.assign(hostile(ExecutionSchema), { state, finalOutput: HOSTILE });
}

const refusal = (code: Code): ConnectError => new ConnectError(HOSTILE, code);

/** Serves hostile text by every method; returns where. */
async function serveHostile(): Promise<string> {
  let watches = 0;
  const failed = () => ({ execution: execution(ExecutionState.FAILED) });
  const adapter = connectNodeAdapter({
    routes(router) {
      router.service(ExecutionService, {
        startExecution: failed,
        getExecution: failed,
        waitExecution: failed,
        listExecutions: () => ({ executions: [execution(ExecutionState.RUNNING)] }),
        cancelExecution: () => ({ execution: execution(ExecutionState.CANCELLING) }),
        sendInput: () => ({ inputId: HOSTILE, sequence: 1 }),
        async *watchEvents() {
          watches++;
          if (watches === 1) throw refusal(Code.Unavailable);
          const events = everyEvent();
          const { length } = events;
          yield { events, headSequence: length, nextAfterSequence: length, state: ExecutionState.FAILED };
        },
      });
      router.service(ActionService, {
        listActions: () => ({ actions: [hostile(ActionRequestSchema)] }),
        respondAction: () => ({ action: hostile(ActionRequestSchema) }),
      });
      router.service(RuntimeService, {
        listProviders: () => ({ providers: [hostile(ProviderSchema)] }),
        getProvider: ({ providerId }) => {
          if (providerId === "none") throw refusal(Code.NotFound);
          return { provider: hostile(ProviderSchema) };
        },
      });
    },
  });
  const server = http2.createServer(adapter);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

let written = "";

beforeEach(() => {
  written = "";
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, "write").mockImplementation((text) => {
      written += String(text);
      return true;
    });
    const before = stream.isTTY;
    Object.defineProperty(stream, "isTTY", { value: true, configurable: true });
    onTestFinished(() => void Object.defineProperty(stream, "isTTY", { value: before, configurable: true }));
  }
});

afterEach(() => {
  vi.restoreAllMocks();
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

// biome-ignore lint/suspicious/noControlCharactersInRegex: this program's own colours
const COLOUR = /\u001b\[\d+m/g;

const COMMANDS: Readonly<Record<string, (options: { readonly url: string }) => Promise<unknown>>> = {
  run: (options) => run("x", "hi", options),
  "run --detach": (options) => run("x", "hi", { ...options, detach: true }),
  watch: (options) => watch("x", options),
  get: (options) => get("x", options),
  list: (options) => list({ ...options, limit: "10" }),
  wait: (options) => wait("x", options),
  send: (options) => send("x", "hi", { ...options, mode: "steer" }),
  cancel: (options) => cancel("x", { ...options, reason: "" }),
  respond: (options) => respond("x", "a", { ...options, approve: true }),
  actions: (options) => actions(options),
  providers: (options) => providers(undefined, options),
  "providers ID": (options) => providers("x", options),
  "an error": (options) => providers("none", options).catch(reportError),
};

test.each(Object.keys(COMMANDS))("what a hostile server says does not control the terminal: %s", async (name) => {
  const url = await serveHostile();
  await COMMANDS[name]?.({ url });
  expect(written).not.toBe("");
  expect(written.replace(COLOUR, "")).not.toMatch(CONTROL);
});
