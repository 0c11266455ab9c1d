import { describe, expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type HarnessManifest, type HarnessRegistries, HarnessRuntime, parseManifest } from "../../src/engine.js";
import { driver, model, NO_GRANTS, OPTIONS, runOnce, runtimeOf, tool } from "./fixtures.js";

const MANIFEST: HarnessManifest = {
  id: "reviewer",
  contractVersion: 1,
  defaults: { instructions: "Be kind.", maxTokens: 100 },
  limits: { maxSteps: 3, maxModelCalls: 1 },
  requirements: ["network"],
  runtime: { driver: "echo", modelRoles: { main: "small" }, tools: ["look"], abilities: ["docs"] },
};

const registries: HarnessRegistries = {
  drivers: {
    echo: driver((services) =>
      JSON.stringify([services.definitionId, services.agentConfiguration, services.tools.length]),
    ),
  },
  models: { small: { provider: model() } },
  tools: { look: tool("look") },
  abilities: { docs: { name: "docs", bind: () => ({ tools: [tool("read")] }) } },
};

const GRANTS = { toolIds: ["look", "read"], modelRoles: ["main"] };

describe("definitions", () => {
  test("E122 a portable definition is resolved against what the host approved, and configures the driver", async () => {
    const runtime = new HarnessRuntime({
      definition: { kind: "portable", manifest: MANIFEST, registries },
      requirements: ["network"],
      projectRoot: "/srv/project",
      grants: GRANTS,
    });
    const result = await runtime.run("hi", OPTIONS);
    await runtime.close();
    expect(JSON.parse(result.text)).toEqual([
      "reviewer",
      { defaults: MANIFEST.defaults, limits: MANIFEST.limits, projectRoot: "/srv/project" },
      2,
    ]);
  });

  test.each<[string, unknown]>([
    ["an unknown key", { ...MANIFEST, colour: "red" }],
    ["an unknown key further down", { ...MANIFEST, runtime: { driver: "echo", shell: true } }],
    ["a secret-looking key", { ...MANIFEST, defaults: { apiKey: "x" } }],
    ["a secret deep in free data", { ...MANIFEST, defaults: { outputSchema: { properties: { auth_token: {} } } } }],
    ["a wrong type", { ...MANIFEST, limits: { maxSteps: "three" } }],
    ["another contract version", { ...MANIFEST, contractVersion: 2 }],
    ["no driver", { ...MANIFEST, runtime: {} }],
    ["an id with a space", { ...MANIFEST, id: "my agent" }],
    ["no object", "reviewer"],
  ])("E123 a manifest with %s is refused", (_what, manifest) => {
    expect(() => parseManifest(manifest)).toThrow(expect.objectContaining({ reason: ErrorReason.VALIDATION_ERROR }));
  });

  test("E124 equal manifests have the same SHA-256 whatever the order of their keys", () => {
    const { id, ...rest } = MANIFEST;
    const { sha256, manifest } = parseManifest(MANIFEST);
    expect(parseManifest({ ...rest, id }).sha256).toBe(sha256);
    expect(parseManifest({ ...MANIFEST, id: "other" }).sha256).not.toBe(sha256);
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(() => Object.assign(manifest.runtime, { driver: "x" })).toThrow();
  });

  test.each([
    ["a driver", { ...MANIFEST, runtime: { driver: "gone" } }],
    ["a model", { ...MANIFEST, runtime: { driver: "echo", modelRoles: { main: "gone" } } }],
    ["a tool", { ...MANIFEST, runtime: { driver: "echo", tools: ["constructor"] } }],
    ["an ability", { ...MANIFEST, runtime: { driver: "echo", abilities: ["gone"] } }],
  ])("E125 %s that the host did not approve fails at construction", (_what, manifest) => {
    const config = {
      definition: { kind: "portable" as const, manifest, registries },
      requirements: ["network"],
      grants: GRANTS,
    };
    expect(() => new HarnessRuntime(config)).toThrow("approved no");
  });

  test("E126 a definition that needs more than the host grants fails before its driver", () => {
    const definition = { kind: "portable" as const, manifest: MANIFEST, registries };
    expect(() => new HarnessRuntime({ definition, grants: GRANTS })).toThrow("network");
  });

  test("E127 a local definition brings live code", async () => {
    const definition = {
      kind: "local" as const,
      id: "mine",
      driver: driver((services) => services.definitionId ?? ""),
      limits: { maxModelCalls: 3 },
    };
    const runtime = new HarnessRuntime({ definition, grants: NO_GRANTS });
    expect((await runtime.run("hi", OPTIONS)).text).toBe("mine");
    await runtime.close();
  });
});

describe("abilities", () => {
  test("E128 they bind per run in order and are disposed in reverse", async () => {
    const log: string[] = [];
    const ability = (name: string) => ({
      name,
      bind: () => {
        log.push(`bind ${name}`);
        return { tools: [tool(name)], dispose: () => void log.push(`dispose ${name}`) };
      },
    });
    const runtime = runtimeOf((services) => services.tools.map(({ name }) => name).join(" "), {
      abilities: [ability("a"), ability("b")],
      grants: { toolIds: ["a", "b"], modelRoles: [] },
    });
    expect((await runtime.run("hi", OPTIONS)).text).toBe("a b");
    await runtime.run("hi", OPTIONS);
    expect(log).toEqual(Array(2).fill(["bind a", "bind b", "dispose b", "dispose a"]).flat());
  });

  test("E129 a name that is there twice fails the run, and what was bound is disposed", async () => {
    const log: string[] = [];
    const ability = { name: "docs", bind: () => ({ tools: [tool("a")], dispose: () => void log.push("disposed") }) };
    const result = await runOnce(() => "never", {
      tools: [tool("a")],
      abilities: [ability],
      grants: { toolIds: ["a"], modelRoles: [] },
    });
    expect(result).toMatchObject({ status: "failed", reason: { message: expect.stringContaining('"a"') } });
    expect(log).toEqual(["disposed"]);
    expect((await runOnce(() => "never", { abilities: [ability, ability] })).status).toBe("failed");
  });
});
