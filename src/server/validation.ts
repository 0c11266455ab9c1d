import { create, type DescMessage, type DescMethod, type Message } from "@bufbuild/protobuf";
import type { Interceptor, StreamRequest } from "@connectrpc/connect";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError } from "../core/errors.js";
import { createRules } from "../core/rules.js";

/** Throws VALIDATION_ERROR, with a violation for each field at fault, where `message` breaks a rule of the contract. */
export type Validate = (schema: DescMessage, message: Message) => void;

/** Makes the check for requests. The first check of each type compiles its rules; {@link warmUp} does so ahead. */
export function createValidate(): Validate {
  const brokenRules = createRules();
  return (schema, message) => {
    const violations = brokenRules(schema, message);
    const [first] = violations;
    if (first === undefined) return;
    const text = `${first.field || "request"}: ${first.description}`;
    throw new HarnessError(ErrorReason.VALIDATION_ERROR, text, { field: first.field }, { violations });
  };
}

/** Checks an empty request of each method, so that no caller pays for compiling the rules (about 100 ms each). */
export function warmUp(validate: Validate, methods: Iterable<DescMethod>): void {
  for (const { input } of methods) {
    try {
      validate(input, create(input));
    } catch (error) {
      if (!(error instanceof HarnessError)) throw error;
    }
  }
}

/**
 * Checks the request of every unary and server-streaming call. A bidi stream
 * checks its own messages, because there a bad one need not end the stream.
 */
export function validateRequests(validate: Validate): Interceptor {
  return (next) => (request) => {
    if (!request.stream) {
      validate(request.method.input, request.message);
      return next(request);
    }
    if (request.method.methodKind === "bidi_streaming") return next(request);
    return next({ ...request, message: checked(request, validate) });
  };
}

async function* checked(request: StreamRequest, validate: Validate): StreamRequest["message"] {
  for await (const message of request.message) {
    validate(request.method.input, message);
    yield message;
  }
}
