import { expect, onTestFinished, test, vi } from "vitest";
import { connectProvider, defineProvider } from "../../../src/provider.js";
import { remoteManifest } from "./kit.js";

const provider = defineProvider({ manifest: remoteManifest(), run: async () => undefined });

test.each(["127.0.0.1:4310", "localhost:4310", "", "http://", "ftp://127.0.0.1"])(
  "the address %j is refused at once",
  (url) => {
    expect(() => connectProvider(provider, { url })).toThrow(
      new RangeError("url: must be a URL, such as http://127.0.0.1:4310"),
    );
  },
);

test("a runtime that does not answer is warned of on the console, with why", async () => {
  const warned = Promise.withResolvers<unknown>();
  const warn = vi.spyOn(console, "warn").mockImplementation(warned.resolve);
  // Nothing listens on the port of `discard`.
  const connection = connectProvider(provider, { url: "http://127.0.0.1:9" });
  onTestFinished(async () => {
    await connection.close();
    warn.mockRestore();
  });
  expect(await warned.promise).toMatch(/^harness provider: the connection broke: .*ECONNREFUSED.*; trying again$/);
});
