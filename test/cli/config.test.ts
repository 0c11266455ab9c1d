import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LogLevel, StoreKind } from "../../gen/ts/harnessruntime/config/v1/config_pb.js";
import { type FlagValue, readConfig } from "../../src/cli/config/read-config.js";
import { KEYS, toShown } from "../../src/cli/config/settings.js";

let folder: string;
let file: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "harness-config-"));
  file = join(folder, "harness.yaml");
});

afterAll(() => rmSync(folder, { recursive: true }));

function read(yaml: string, env: Record<string, string> = {}, flags: readonly FlagValue[] = []) {
  writeFileSync(file, yaml);
  return readConfig({ file, env, flags });
}

function errorOf(...args: Parameters<typeof read>): string {
  try {
    read(...args);
  } catch (error) {
    return String(error).replaceAll(folder, "");
  }
  return "";
}

test("every key but those of providers and limits without one has a default that its rules allow", () => {
  const { settings } = read("");
  const unset = KEYS.map(({ path }) => path.join(".")).filter(
    (key) => !settings.some(({ path }) => path.join(".") === key),
  );
  expect(unset).toEqual([
    "server.tls.cert_file",
    "server.tls.key_file",
    "providers.acp",
    "providers.agent",
    "providers.driver",
    "log.format",
  ]);
});

test("flags go before the environment, which goes before the file, which goes before the defaults", () => {
  const yaml = "server:\n  port: 1\n  host: localhost\n  drain_grace: 1m\n";
  const { config, settings } = read(yaml, { HARNESS_SERVER_PORT: "2", HARNESS_SERVER_HOST: "::1" }, [
    { key: "server.port", text: "3", flag: "--port" },
  ]);
  expect(config.server).toMatchObject({ port: 3, host: "::1" });
  expect(durationMs(config.server!.drainGrace!)).toBe(60_000);
  const from = settings.filter(({ path }) => path[0] === "server").map((one) => [one.path[1], toShown(one), one.where]);
  expect(from.slice(0, 3)).toEqual([
    ["host", "::1", "HARNESS_SERVER_HOST"],
    ["port", "3", "--port"],
    ["allow_insecure", "false", "default"],
  ]);
  expect(from.at(-1)).toEqual(["drain_grace", "60s", `${file}:4`]);
});

test("enum values are short, lists and maps are read, and a provider's settings are its own", () => {
  const yaml = `
store: { kind: memory, retention: [{ keep: 7d, labels: { kind: test } }, { keep: 90d }] }
log: { level: debug }
providers:
  acp:
    my-agent: { command: my-agent, args: [--acp] }
`;
  const { config } = read(yaml, { HARNESS_SERVER_ALLOWED_ORIGINS: "http://a, http://b" });
  expect(config.store?.kind).toBe(StoreKind.MEMORY);
  expect(config.log?.level).toBe(LogLevel.DEBUG);
  expect(config.store?.retention.map(({ keep, labels }) => [Number(keep?.seconds), labels])).toEqual([
    [604_800, { kind: "test" }],
    [7_776_000, {}],
  ]);
  expect(config.providers?.acp).toEqual({ "my-agent": { command: "my-agent", args: ["--acp"] } });
  expect(config.server?.allowedOrigins).toEqual(["http://a", "http://b"]);
});

describe("what is wrong is said in one line, with the place and the mend", () => {
  test.each([
    ["server:\n  prot: 1", "/harness.yaml:2: server.prot: is not known; did you mean port?"],
    ["sever: 1", "/harness.yaml:1: sever: is not known; did you mean server?"],
    [
      "x: 1\ny: 2",
      "/harness.yaml:1: x: is not known; there are data, server, auth, store, runtime, providers, log (and 1 more)",
    ],
    ["server: 4310", "/harness.yaml:1: server: must be a map of host, port, allow_insecure, tls"],
    ["server:\n\n  port: high", '/harness.yaml:3: server.port: must be a whole number, not "high"'],
    [
      "server: { port: 70000 }",
      "/harness.yaml:1: server.port: must be greater than or equal to 0 and less than or equal to 65535",
    ],
    ["server: { drain_grace: 5 }", "server.drain_grace: must be a duration such as 30s, 10m or 7d, not 5"],
    ["server: { allowed_hosts: a }", '/harness.yaml:1: server.allowed_hosts: must be a list, not "a"'],
    ["store: { kind: postgres }", 'store.kind: must be one of sqlite, memory, not "postgres"'],
    [
      "store:\n  retention:\n    - keep: 1d\n      label: {}",
      "/harness.yaml:4: store.retention.0.label: is not known; did you mean labels?",
    ],
    ["store: { retention: [{}] }", "/harness.yaml:1: store.retention.0.keep: value is required"],
    ["providers: { acp: { 'a b': {} } }", "providers.acp.a b"],
    ["a: [", "/harness.yaml:1:5: "],
    ["- a", "/harness.yaml: the file: must be a map of data"],
  ])("%j", (yaml, message) => {
    expect(errorOf(yaml)).toContain(message);
    expect(errorOf(yaml)).not.toContain("\n");
  });

  test("in the environment and in flags", () => {
    expect(errorOf("", { HARNESS_SERVER_PROT: "1" })).toBe(
      "ConfigError: environment: HARNESS_SERVER_PROT: is not known; did you mean HARNESS_SERVER_PORT?",
    );
    expect(errorOf("", { HARNESS_LOG_LEVEL: "loud" })).toContain("HARNESS_LOG_LEVEL: log.level: must be one of debug,");
    expect(errorOf("", {}, [{ key: "server.prt", text: "1", flag: "--set" }])).toContain("did you mean server.port?");
    expect(errorOf("", {}, [{ key: "server.port", text: "x", flag: "--port" }])).toContain(
      "--port: server.port: must be",
    );
  });

  test("where the file is missing", () => {
    expect(() => readConfig({ file: join(folder, "no.yaml"), env: {}, flags: [] })).toThrow("there is no such file");
  });
});
