import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BudgetLedger, checkBudgets, narrowBudgets } from "../../src/engine/budgets.js";
import { type ChatMessage, HarnessBudgetError } from "../../src/engine.js";
import { answer, MAIN, model, runOnce, USAGE } from "./fixtures.js";

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
    const result = await runOnce(
      async (services) => {
        services.emit({ type: "output.text.delta", text: "so far" });
        await services.model(failing, [USER]).catch(() => {});
        await services.controlModel("main", [USER]);
        const error = await services.model(failing, [USER]).catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(HarnessBudgetError);
        throw error;
      },
      { grants: MAIN, models: { main: { provider: model() } }, budgets: { maxModelCalls: 1 } },
    );
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
    const counted = model(async (_messages, { maxTokens = 0 }) => {
      made++;
      running += maxTokens;
      expect(running).toBeLessThanOrEqual(1_000);
      await gate.promise;
      running -= maxTokens;
      return answer("", { usage: { promptTokens: 0, completionTokens: maxTokens, totalTokens: maxTokens } });
    });
    const result = await runOnce(
      async (services) => {
        const calls = Array.from({ length: 50 }, () => services.model(counted, [USER], { maxTokens: 100 }));
        const settled = Promise.allSettled(calls);
        await Promise.resolve();
        setTimeout(gate.resolve, 20);
        const refused = (await settled).filter(({ status }) => status === "rejected").length;
        return `${made} made, ${refused} refused`;
      },
      { grants: MAIN, budgets: { maxTokens: 1_000 } },
    );
    expect(result).toMatchObject({ text: "10 made, 40 refused", usage: { totalTokens: 1_000 } });
  });

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
});
