import { ConnectError } from "@connectrpc/connect";
import { expect, onTestFinished } from "vitest";
import { type ErrorInfo, ErrorInfoSchema } from "../../../gen/ts/google/rpc/error_details_pb.js";
import { type RunningServer, type ServerOptions, startServer } from "../../../src/server/server.js";
import { createFakeRuntime, type FakeRuntime } from "./fake-runtime.js";

/** Serves a fake runtime on a free port until the test ends. */
export async function serve(
  options: Partial<ServerOptions> = {},
  fake: FakeRuntime = createFakeRuntime(),
): Promise<{ readonly server: RunningServer; readonly fake: FakeRuntime; readonly url: string }> {
  const server = await startServer({ runtime: fake.runtime, port: 0, ...options });
  onTestFinished(() => server.close(0));
  return { server, fake, url: server.url };
}

/** Resolves with the RPC error that `promise` must fail with. */
export async function failure(promise: Promise<unknown>): Promise<ConnectError> {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(ConnectError);
  return ConnectError.from(outcome);
}

/** The error's `google.rpc.ErrorInfo`. */
export function infoOf(error: ConnectError): Pick<ErrorInfo, "reason" | "metadata"> {
  const [info] = error.findDetails(ErrorInfoSchema);
  expect(info?.domain).toBe("harnessruntime");
  return { reason: info?.reason ?? "", metadata: info?.metadata ?? {} };
}

/** Reads a stream to its end. */
export async function collect<T>(stream: AsyncIterable<T>, onEach: (item: T) => void = () => undefined): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) {
    items.push(item);
    onEach(item);
  }
  return items;
}
