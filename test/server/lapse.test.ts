import { Code, createClient, type Interceptor } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { Health } from "../../gen/ts/grpc/health/v1/health_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { type Authenticator, bearerToken, SCOPES } from "../../src/server/auth.js";
import { WIRES } from "./support/clients.js";
import { createFakeRuntime } from "./support/fake-runtime.js";
import { failure, infoOf, serve } from "./support/serve.js";

/** Knows every secret but those that were revoked; with `broken` it can look up none. */
function authenticator() {
  const revoked = new Set<string>();
  const state = { broken: false, looks: 0 };
  const auth: Authenticator = {
    async authenticate(credentials) {
      state.looks++;
      if (state.broken) throw new Error("the tokens cannot be read");
      const secret = bearerToken(credentials) ?? "";
      if (secret === "" || revoked.has(secret)) return undefined;
      return { tenantId: "acme", userId: secret, scopes: new Set(SCOPES) };
    },
  };
  return { auth, state, revoke: (secret: string) => revoked.add(secret) };
}

function bearer(secret: string): Interceptor {
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${secret}`);
    return next(request);
  };
}

describe.each(WIRES)("over $name", ({ connect, bidi }) => {
  async function open() {
    const { auth, revoke, state } = authenticator();
    const fake = createFakeRuntime({ heartbeatIntervalMs: 20 });
    const { url } = await serve({ auth }, fake);
    const transport = (secret: string) => connect(url, [bearer(secret)]);
    const as = (secret: string) => createClient(ExecutionService, transport(secret));
    const { execution } = await as("ann").startExecution({ providerId: "fake", input: { text: "hi" } });
    return { fake, revoke, state, transport, as, executionId: execution?.id ?? "" };
  }

  async function toEnd(stream: AsyncIterable<unknown>): Promise<void> {
    for await (const _ of stream);
  }

  test("a stream whose credentials are revoked ends with UNAUTHENTICATED, and others go on", async () => {
    const { fake, revoke, as, executionId } = await open();
    const other = as("bob").watchEvents({ executionId })[Symbol.asyncIterator]();
    await other.next();
    const watching = as("ann").watchEvents({ executionId })[Symbol.asyncIterator]();
    await watching.next();
    expect(fake.watchers.size).toBe(2);
    revoke("ann");
    const error = await failure(toEnd({ [Symbol.asyncIterator]: () => watching }));
    expect(error.code).toBe(Code.Unauthenticated);
    expect(infoOf(error).reason).toBe("UNAUTHENTICATED");
    await expect.poll(() => fake.watchers.size).toBe(1);
    fake.append(executionId, ["more"], ExecutionState.SUCCEEDED);
    await toEnd({ [Symbol.asyncIterator]: () => other });
  });

  test("every other kind of stream ends too", async () => {
    const { revoke, as, transport, executionId } = await open();
    const health = createClient(Health, transport("ann")).watch({ service: "" })[Symbol.asyncIterator]();
    await health.next();
    const ends = [failure(toEnd({ [Symbol.asyncIterator]: () => health }))];
    if (bidi) {
      const left = Promise.withResolvers<void>();
      const commands = async function* () {
        yield { command: { case: "attach" as const, value: { executionId } } };
        await left.promise;
      };
      const attached = as("ann").attachExecution(commands())[Symbol.asyncIterator]();
      await attached.next();
      ends.push(failure(toEnd({ [Symbol.asyncIterator]: () => attached })).finally(left.resolve));
    }
    revoke("ann");
    for (const error of await Promise.all(ends)) expect(error.code).toBe(Code.Unauthenticated);
  });

  test("a stream goes on while its credentials cannot be looked at", async () => {
    const { fake, state, as, executionId } = await open();
    const watching = as("ann").watchEvents({ executionId })[Symbol.asyncIterator]();
    await watching.next();
    state.broken = true;
    const looks = state.looks;
    await expect.poll(() => state.looks).toBeGreaterThan(looks + 2);
    fake.append(executionId, ["more"], ExecutionState.SUCCEEDED);
    await toEnd({ [Symbol.asyncIterator]: () => watching });
  });
});
