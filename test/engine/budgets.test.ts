import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { BudgetsSchema } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import { BudgetLedger, checkBudgets, narrowBudgets } from "../../src/engine/budgets.js";
import { type ChatMessage, HarnessBudgetError } from "../../src/engine.js";
import { answer, driver, MAIN, model, runOnce, USAGE, untilAborted } from "./fixtures.js";
import { openServed } from "./served.js";

const USER: ChatMessage = { role: "user", content: "hi" };

/** Reserves tokens and returns what uses them all and gives them back; nothing where none are left. */
function reserve(ledger: BudgetLedger, wanted: number | undefined): () => void {
  try {
    const held = ledger.reserveTokens(wanted);
    const tokens = held.maxTokens ?? 0;
    expect(tokens).toBeGreaterThan(0);
    return () => {
      ledger.account({ promptTokens: 0, completionTokens: tokens, totalTokens: tokens });
      held.release();
      held.release();
    };
  } catch (error) {
    expect(error).toBeInstanceOf(HarnessBudgetError);
    return () => {};
  }
}

describe("budgets", () => {
  test("E60 every task and control call counts, failed ones too; the one too many is a HarnessBudgetError", async () => {
    const failing = model(() => Promise.reject(new Error("offline")));
    let error: unknown;
    const result = await runOnce(
      async (services) => {
        services.emit({ type: "output.text.delta", text: "so far" });
        await expect(services.model(failing, [USER])).rejects.toThrow("offline");
        await services.controlModel("critic", [USER]);
        error = await services.model(failing, [USER]).catch((reason: unknown) => reason);
        throw error;
      },
      {
        grants: { toolIds: [], modelRoles: ["main", "critic"] },
        models: { critic: { provider: model() } },
        budgets: { maxModelCalls: 2 },
      },
    );
    expect(error).toBeInstanceOf(HarnessBudgetError);
    expect(failing.calls.length).toBe(1);
    expect(result).toMatchObject({ status: "stopped", text: "so far", reason: { code: "budget_exhausted" } });
  });

  test("E61 a driver that swallows an exhausted budget is stopped all the same, with what it wrote", async () => {
    const result = await runOnce(
      async (services) => {
        await services.model(model(), [USER]).catch(() => {});
        return "wrapped up";
      },
      { grants: MAIN, budgets: { maxModelCalls: 0 } },
    );
    expect(result).toMatchObject({ status: "stopped", text: "wrapped up", reason: { code: "budget_exhausted" } });
  });

  test.each([{ maxModelCalls: 0 }, { maxTokens: 0 }])(
    "E61 over the wire a run that used up %o has FAILED with BUDGET_EXHAUSTED",
    async (budgets) => {
      const served = await openServed(async (services) => `${await services.model(model(), [USER])}`, {
        grants: MAIN,
        budgets,
      });
      const { id } = await served.start("hello");
      expect(await served.wait(id)).toMatchObject({
        state: ExecutionState.FAILED,
        error: { reason: FailureReason.BUDGET_EXHAUSTED },
      });
    },
  );

  test("E62 the call that crosses the token budget completes, and the next one is refused", async () => {
    const result = await runOnce(
      async (services) => {
        await services.model(
          model(() => answer("", { usage: { ...USAGE, totalTokens: 500 } })),
          [USER],
        );
        await services.model(model(), [USER]);
        return "never";
      },
      { grants: MAIN, budgets: { maxTokens: 100 } },
    );
    expect(result).toMatchObject({ status: "stopped", usage: { totalTokens: 500 } });
  });

  test("E63 the budget holds under 50 concurrent model calls", async () => {
    let running = 0;
    let made = 0;
    const gate = Promise.withResolvers<void>();
    const allAsked = Promise.withResolvers<void>();
    let asked = 0;
    const refusedOne = (error: unknown): never => {
      if (++asked === 50) allAsked.resolve();
      throw error;
    };
    const counted = model(async (_messages, { maxTokens = 0 }) => {
      made++;
      running += maxTokens;
      expect(running).toBeLessThanOrEqual(1_000);
      if (++asked === 50) allAsked.resolve();
      await gate.promise;
      running -= maxTokens;
      return answer("", { usage: { promptTokens: 0, completionTokens: maxTokens, totalTokens: maxTokens } });
    });
    const result = await runOnce(
      async (services) => {
        const calls = Array.from({ length: 50 }, () =>
          services.model(counted, [USER], { maxTokens: 100 }).catch(refusedOne),
        );
        const settled = Promise.allSettled(calls);
        await allAsked.promise;
        gate.resolve();
        const refused = (await settled).filter(({ status }) => status === "rejected").length;
        return `${made} made, ${refused} refused`;
      },
      { grants: MAIN, budgets: { maxTokens: 1_000 } },
    );
    expect(result).toMatchObject({ text: "10 made, 40 refused", usage: { totalTokens: 1_000 } });
  });

  test.each([20, 50])(
    "E63 so does the number of calls, streamed ones and a policy's own included: %i at once where 20 are allowed",
    async (count) => {
      const counted = model();
      let refused = 0;
      const result = await runOnce(
        async (services) => {
          const drain = async (): Promise<void> => {
            for await (const _ of services.streamModel(counted, [USER]));
          };
          const calls = Array.from({ length: count }, (_, index): Promise<unknown> => {
            if (index % 3 === 0) return drain();
            return index % 3 === 1 ? services.controlModel("main", [USER]) : services.model(counted, [USER]);
          });
          refused = (await Promise.allSettled(calls)).filter(({ status }) => status === "rejected").length;
          return "ok";
        },
        { grants: MAIN, models: { main: { provider: counted } }, budgets: { maxModelCalls: 20 } },
      );
      const made = counted.calls.length;
      // The call that is one too many ends the run: what was only being prepared is not made any more.
      expect(made + refused).toBe(count);
      expect(made).toBeLessThanOrEqual(20);
      expect([result.status, refused > 0]).toEqual(count > 20 ? ["stopped", true] : ["completed", false]);
    },
  );

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("E64 a usage of %s tokens is an error", async (totalTokens) => {
    const result = await runOnce(
      async (services) => {
        await services.model(
          model(() => answer("", { usage: { ...USAGE, totalTokens } })),
          [USER],
        );
        return "ok";
      },
      { grants: MAIN },
    );
    expect(result).toMatchObject({ status: "failed", reason: { message: expect.stringContaining("totalTokens") } });
    expect(result.usage.totalTokens).toBe(0);
  });

  test("E65 whatever the calls, what is held and used never passes the budget by more than one call", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.array(
          fc.record({ wanted: fc.option(fc.integer({ min: 1, max: 400 }), { nil: undefined }), release: fc.boolean() }),
        ),
        (maxTokens, calls) => {
          const ledger = new BudgetLedger(checkBudgets({ maxTokens }));
          const open: (() => void)[] = [];
          for (const { wanted, release } of calls) {
            open.push(reserve(ledger, wanted));
            if (release) open.pop()?.();
          }
          for (const end of open) end();
          expect(ledger.usage.totalTokens).toBeLessThanOrEqual(maxTokens);
        },
      ),
    );
  });

  test("E66 a run's own budgets only lower the host's", () => {
    expect(narrowBudgets({ maxTokens: 10, maxModelCalls: 5 }, { maxTokens: 50, maxToolCalls: 1 })).toEqual({
      maxTokens: 10,
      maxModelCalls: 5,
      maxToolCalls: 1,
    });
  });

  test.each([
    ["model.completed", { maxModelCalls: 1 }],
    ["tool.call.started", { maxToolCalls: 1 }],
  ] as const)(
    "E67 what a client allows a driver that goes its own ways is counted by its %s",
    async (type, budgets) => {
      const { capabilities } = driver(() => "");
      const { start, wait } = await openServed({
        ...driver((services, { signal }) => {
          for (const nth of ["1", "2"]) {
            if (type === "model.completed")
              services.emit({ type, provider: "own", model: nth, role: "", usage: USAGE });
            else services.emit({ type, toolCallId: nth, name: "own" });
          }
          return untilAborted(signal);
        }),
        capabilities: { ...capabilities, controlledExecution: false },
      });
      const { id } = await start("hi", { budgets: create(BudgetsSchema, budgets) });
      const { state, error } = await wait(id);
      expect({ state, reason: error?.reason }).toEqual({
        state: ExecutionState.FAILED,
        reason: FailureReason.BUDGET_EXHAUSTED,
      });
    },
  );
});
