import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import {
  type ContextPolicy,
  createApprovalManager,
  driverProvider,
  type ExecutionDriver,
  HarnessError,
  HarnessRuntime,
  type HarnessRuntimeConfig,
  type HarnessStartOptions,
  HarnessUnsupportedError,
  type TeamMember,
} from "../../src/engine.js";
import { openSqliteStore } from "../../src/store/sqlite.js";
import { driver, eventOf, eventsOf, MAIN, model, NO_GRANTS, OPTIONS, runtimeOf, tool } from "./fixtures.js";

const SHORT: ContextPolicy = { id: "short", project: (messages) => ({ messages, provenance: [] }) };

function construct(config: Partial<HarnessRuntimeConfig>): () => HarnessRuntime {
  return () => new HarnessRuntime({ driver: driver(() => "ok"), grants: NO_GRANTS, ...config });
}

function caught(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

function withCapabilities(
  more: Partial<ExecutionDriver["capabilities"]>,
  rest: Partial<ExecutionDriver> = {},
): ExecutionDriver {
  const made = driver(() => "ok", rest);
  return { ...made, capabilities: { ...made.capabilities, ...more } };
}

function withMember(member: TeamMember, name = "helper"): ExecutionDriver {
  return driver(() => "ok", { members: { [name]: member } });
}

describe("construction", () => {
  test.each<[string, Partial<HarnessRuntimeConfig>]>([
    ["no driver", { driver: undefined as never }],
    ["an empty driver id", { driver: driver(() => "ok", { id: "" }) }],
    ["a version that is no integer", { driver: driver(() => "ok", { version: 1.5 }) }],
    ["a version of 0", { driver: driver(() => "ok", { version: 0 }) }],
    ["a negative budget", { budgets: { maxTokens: -1 } }],
    ["a budget that is no integer", { budgets: { maxModelCalls: 1.5 } }],
    ["a budget that is no number", { budgets: { maxToolCalls: Number.NaN } }],
    ["a granted model role with no binding", { grants: { toolIds: [], modelRoles: ["critic"] } }],
    ["a binding with no model", { models: { critic: {} as never } }],
    ["the same grant twice", { grants: { toolIds: ["a", "a"], modelRoles: [] } }],
    ["a required tool that is not granted", { grants: { ...NO_GRANTS, requiredToolIds: ["a"] } }],
    ["two tools of one name", { tools: [tool("a"), tool("a")] }],
    ["a member with a strange name", { driver: withMember({ driver: driver(() => "") }, "a b") }],
    ["a member with no driver id", { driver: withMember({ driver: driver(() => "", { id: "" }) }) }],
    [
      "a member with a negative budget",
      { driver: withMember({ driver: driver(() => ""), budgets: { maxTokens: -1 } }) },
    ],
    [
      "a member with a role of no model",
      { driver: withMember({ driver: driver(() => ""), grants: { toolIds: [], modelRoles: ["critic"] } }) },
    ],
    ["a project root that is not absolute", { projectRoot: "somewhere" }],
  ])("E02 construction fails with VALIDATION_ERROR for %s", (_what, config) => {
    const error = caught(construct(config));
    expect(error).toBeInstanceOf(HarnessError);
    expect(error).toMatchObject({ reason: ErrorReason.VALIDATION_ERROR });
  });

  test.each<[string, object]>([
    ['the key "budgts" is not known; did you mean budgets?', { budgts: { maxModelCalls: 3 } }],
    ['the key "budgets.maxModelCals" is not known; did you mean maxModelCalls?', { budgets: { maxModelCals: 3 } }],
    ['the key "grants.toolId" is not known; did you mean toolIds?', { grants: { ...NO_GRANTS, toolId: [] } }],
    [
      'the key "grants.requires" is not known; known are toolIds, requiredToolIds, modelRoles',
      { grants: { ...NO_GRANTS, requires: [] } },
    ],
    [
      'the key "driver.members.helper.budget" is not known; did you mean budgets?',
      { driver: withMember({ driver: driver(() => ""), budget: {} } as never) },
    ],
    [
      'the key "budgets.maxToken" is not known; did you mean maxTokens?',
      { definition: { kind: "local", id: "d", driver: driver(() => ""), limits: { maxSteps: 3, maxToken: 1 } } },
    ],
    ["budgets: must be an object", { budgets: 3 }],
    ["grants: name toolIds and modelRoles, which may be empty", { grants: undefined }],
    ["grants: name toolIds and modelRoles, which may be empty", { grants: { toolIds: [] } }],
    ["grants: must be an object", { grants: ["a"] }],
  ])("E02 construction says in one line: %s", (message, wrong) => {
    const made = driver(() => "ok");
    const expected = expect.objectContaining({ message, reason: ErrorReason.VALIDATION_ERROR });
    const config = { driver: made, grants: NO_GRANTS, ...wrong };
    expect(caught(() => new HarnessRuntime(config as never))).toEqual(expected);
    const { driver: served, definition, ...options } = { definition: undefined, ...config };
    if (definition === undefined) expect(caught(() => driverProvider(served, options as never))).toEqual(expected);
  });

  test("E02 how a driver is served has its own keys, and a wrong one is named", () => {
    const provide = (options: object) =>
      driverProvider(
        driver(() => "ok"),
        options as never,
      );
    expect(provide({ grants: NO_GRANTS, providerId: "p", capacity: 3 })).toMatchObject({ capacity: 3 });
    expect(() => provide({ grants: NO_GRANTS, capacty: 3 })).toThrow('"capacty" is not known; did you mean capacity?');
    expect(() => provide({ grants: NO_GRANTS, eventCapacity: 3 })).toThrow('"eventCapacity" is not known; known are');
    expect(() => provide(undefined as never)).toThrow("grants: name toolIds and modelRoles");
    expect(() => new HarnessRuntime(undefined as never)).toThrow("config: must be an object");
  });

  test.each<[string, string, Partial<HarnessRuntimeConfig>]>([
    ["durable", "a driver that cannot resume", { driver: withCapabilities({ durable: true }) }],
    [
      "durable",
      "a store that does not survive the process",
      { driver: withCapabilities({ durable: true }, { resume: async () => ({ text: "" }) }) },
    ],
    [
      "controlledExecution",
      "a member that goes its own ways",
      {
        driver: withMember({ driver: withCapabilities({ controlledExecution: false }) }),
      },
    ],
    [
      "durable",
      "a member whose runs its store does not keep",
      {
        driver: withMember({ driver: withCapabilities({ durable: true }, { resume: async () => ({ text: "" }) }) }),
      },
    ],
    ["replace", "a driver that cannot be interrupted", { driver: driver(() => "ok", { interruptible: false }) }],
  ])("E03 construction refuses %s with %s as unsupported", (operation, _what, config) => {
    const error = caught(construct(config));
    expect(error).toBeInstanceOf(HarnessUnsupportedError);
    expect(error).toMatchObject({ code: "unsupported", operation });
  });

  const wanted: readonly [string, Partial<HarnessRuntimeConfig>][] = [
    ["granted tools", { grants: { toolIds: ["a"], modelRoles: [] } }],
    ["granted model roles", { grants: MAIN }],
    ["budgets", { budgets: { maxRevisions: 0 } }],
    ["an execution policy", { executionPolicy: { decide: () => ({ action: "allow" }) } }],
    ["a step controller", { controller: { id: "c" } }],
    ["a context policy", { contextPolicy: SHORT }],
    ["approvals of its own", { approvalManager: createApprovalManager({ policy: "all" }) }],
    [
      "a definition's context policy",
      {
        definition: {
          kind: "portable",
          manifest: { id: "d", contractVersion: 1, runtime: { driver: "d", contextPolicy: "short" } },
          registries: { drivers: { d: driver(() => "") }, contextPolicies: { short: SHORT } },
        },
      },
    ],
  ];

  test.each(
    wanted.flatMap(([what, config]) => [
      ["policyCoverage", what, { policyCoverage: "none" } as const, config] as const,
      ["policyCoverage", what, { policyCoverage: "remote" } as const, config] as const,
      ["controlledExecution", what, { controlledExecution: false } as const, config] as const,
    ]),
  )("E03 construction refuses a driver's %s where it has %s to enforce", (operation, _what, capabilities, config) => {
    const error = caught(construct({ ...config, driver: withCapabilities(capabilities) }));
    expect(error).toMatchObject({ name: "HarnessUnsupportedError", code: "unsupported", operation });
  });

  test("E03 a driver without coverage runs where nothing has to be enforced", async () => {
    const free = withCapabilities({ policyCoverage: "none", controlledExecution: false });
    expect(await runtimeOf(free).run("hi", OPTIONS)).toMatchObject({ status: "completed", text: "ok" });
  });

  test("E03 a durable member runs beside a durable store, however it is reached", async () => {
    const dir = await mkdtemp(join(tmpdir(), "durable-"));
    const store = await openSqliteStore({ path: join(dir, "log.db") });
    onTestFinished(async () => {
      await store.close();
      await rm(dir, { recursive: true });
    });
    const helper = withCapabilities({ durable: true }, { resume: async () => ({ text: "" }) });
    const team = driver(async ({ startChild }) => `${(await startChild?.("helper", "hi"))?.text}`, {
      members: { helper: { driver: helper } },
    });
    expect((await runtimeOf(team, { store }).run("hi", OPTIONS)).text).toBe("ok");
  });

  test("E04 changing the caller's objects after construction changes nothing", async () => {
    const one = tool("one");
    const tools = [one];
    const grants = { toolIds: ["one"], modelRoles: ["main"] };
    const main = model();
    const models = { main: { provider: main } };
    const budgets = { maxToolCalls: 5 };
    const policy = { decide: () => ({ action: "allow" as const }) };
    const made = driver(async (services) => {
      const call = await services.dispatch({ id: "c1", name: "one", arguments: {} });
      const response = await services.model(model(), []);
      return `${call.result} ${response.message.content} ${services.tools.length}`;
    });
    const runtime = runtimeOf(made, { tools, grants, models, budgets, executionPolicy: policy });
    tools.push(tool("two"));
    grants.toolIds.length = 0;
    grants.modelRoles.length = 0;
    budgets.maxToolCalls = 0;
    Object.assign(models, { main: { provider: model(() => Promise.reject(new Error("swapped"))) } });
    Object.assign(one, { execute: () => "swapped" });
    Object.assign(policy, { decide: () => ({ action: "deny" }) });
    made.start = async () => ({ text: "swapped" });
    expect(await runtime.run("hi", OPTIONS)).toMatchObject({ status: "completed", text: "one done fine 1" });
    const members = { helper: { driver: driver(() => "help") } };
    const team = runtimeOf(
      driver(async ({ startChild }) => (await startChild?.("helper", "hi"))?.text ?? "", { members }),
    );
    Object.assign(members, { helper: { driver: driver(() => "swapped") } });
    expect((await team.run("hi", OPTIONS)).text).toBe("help");
  });
});

describe("start", () => {
  const host = { toolIds: ["a", "b"], requiredToolIds: ["a"], modelRoles: ["main"] };

  test.each<[string, Partial<HarnessStartOptions>]>([
    ["an empty tenant", { identity: { tenantId: "", userId: "ada" } }],
    ["an empty user", { identity: { tenantId: "acme", userId: "" } }],
    ["an empty session", { sessionId: "" }],
    ["an unknown run mode", { runMode: "dream" as never }],
    ["a deadline that is not finite", { deadline: Number.POSITIVE_INFINITY }],
    ["a tool beyond the host's grants", { grants: { toolIds: ["a", "z"], modelRoles: [] } }],
    ["a model role beyond the host's grants", { grants: { toolIds: ["a"], modelRoles: ["critic"] } }],
    ["the same tool twice", { grants: { toolIds: ["a", "a"], modelRoles: [] } }],
    ["grants without a required tool", { grants: { toolIds: ["b"], modelRoles: [] } }],
  ])("E05 start, run and stream throw at once for %s", (_what, wrong) => {
    const runtime = runtimeOf(() => "never", { grants: host });
    const options = { ...OPTIONS, ...wrong };
    for (const begin of ["start", "run", "stream"] as const) {
      expect(caught(() => runtime[begin]("hi", options))).toMatchObject({ reason: ErrorReason.VALIDATION_ERROR });
    }
  });

  test("E05 start throws at once for an event capacity under 2 and for an input that is none", () => {
    for (const eventCapacity of [1, 0, 2.5, Number.NaN]) {
      const runtime = runtimeOf(() => "never", { eventCapacity });
      expect(caught(() => runtime.start("hi", OPTIONS))).toMatchObject({ reason: ErrorReason.VALIDATION_ERROR });
    }
    const runtime = runtimeOf(() => "never");
    for (const input of [undefined, 7, [{ type: "sound" }], [{ type: "image" }]]) {
      expect(caught(() => runtime.start(input as never, OPTIONS))).toMatchObject({
        reason: ErrorReason.VALIDATION_ERROR,
      });
    }
  });

  test("E05 start throws at once where its driver cannot be held to a plan", () => {
    const runtime = runtimeOf(withCapabilities({ controlledExecution: false }));
    const error = caught(() => runtime.start("hi", { ...OPTIONS, runMode: "plan" }));
    expect(error).toMatchObject({ name: "HarnessUnsupportedError", operation: "plan" });
  });

  test("E05 a start that is refused later is a failed result, and its only event says so", async () => {
    const release = Promise.withResolvers<string>();
    const runtime = runtimeOf(() => release.promise, { cleanupTimeoutMs: 60_000 });
    const parent = runtime.start("hi", OPTIONS);
    await eventOf(parent, "run.started");
    parent.cancel();
    await eventOf(parent, "run.cancelling");
    const child = runtime.start("hi", { ...OPTIONS, sessionId: "s2", parentRunId: parent.runId });
    const result = await child.result();
    expect(result).toMatchObject({
      status: "failed",
      reason: { code: "execution_failed", message: expect.stringContaining(parent.runId) },
      finalCursor: 1,
    });
    expect((await eventsOf(child)).map(({ payload }) => payload)).toEqual([{ type: "run.terminal", result }]);
    await expect(child.send("x", { mode: "follow_up" })).rejects.toMatchObject({ reason: ErrorReason.INVALID_STATE });
    release.resolve("late");
  });

  test("E06 a run begins at the call, and leaving an iterator cancels nothing", async () => {
    const entered = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const runtime = runtimeOf(async () => {
      entered.resolve();
      await release.promise;
      return "done";
    });
    const events = runtime.stream("hi", OPTIONS);
    await entered.promise;
    await events.next();
    await events.return(undefined);
    release.resolve();
    const second = runtime.start("again", { ...OPTIONS, onConflict: "queue" });
    expect((await second.result()).status).toBe("completed");
  });

  test("E07 rootRunId is the parent's root, else the run's own id", async () => {
    const seen: string[] = [];
    const runtime = runtimeOf(async (_services, request) => {
      seen.push(`${request.runId === request.rootRunId} ${request.parentRunId ?? "none"}`);
      if (request.input !== "parent") return request.rootRunId;
      const child = await runtime.run("child", { ...OPTIONS, sessionId: "s2", parentRunId: request.runId });
      return `${child.text === request.runId}`;
    });
    const handle = runtime.start("parent", OPTIONS);
    expect((await handle.result()).text).toBe("true");
    expect(seen).toEqual(["true none", `false ${handle.runId}`]);
    const foreign = runtime.start("x", { ...OPTIONS, sessionId: "s3", parentRunId: "elsewhere", rootRunId: "origin" });
    expect((await foreign.result()).text).toBe("origin");
  });

  test("E08 a cancel right after start means that the driver is never entered", async () => {
    let entered = 0;
    const runtime = runtimeOf(() => {
      entered++;
      return "entered";
    });
    const handles = Array.from({ length: 20 }, (_, index) =>
      runtime.start("hi", { ...OPTIONS, sessionId: `s${index}` }),
    );
    for (const handle of handles) handle.cancel("changed my mind");
    const aborted = runtime.start("hi", { ...OPTIONS, sessionId: "aborted", signal: AbortSignal.abort() });
    for (const handle of [...handles, aborted]) {
      expect((await handle.result()).status).toBe("cancelled");
      expect((await eventsOf(handle)).at(-1)?.payload.type).toBe("run.terminal");
    }
    expect(entered).toBe(0);
  });
});
