import { invalid } from "../core/errors.js";
import { HarnessBudgetError } from "./errors.js";
import { type KeysOf, refuseUnknownKeys } from "./known-keys.js";
import { NO_USAGE, type TokenUsage } from "./message.js";

/** How much a run may use. A limit that is not set does not exist; 0 allows none, but for `maxRevisions`, whose default it is. */
export interface HarnessBudgets {
  /** Model calls of every kind, failed ones too. */
  maxModelCalls?: number;
  /** Tool calls and effects, denied ones too. Where it is used up, the call is denied and the run goes on. */
  maxToolCalls?: number;
  /** The sum of `totalTokens`. The call that crosses it still completes. */
  maxTokens?: number;
  /** Revisions that a completion policy may ask for in one turn. Default 0. */
  maxRevisions?: number;
}

const LIMITS = ["maxModelCalls", "maxToolCalls", "maxTokens", "maxRevisions"] as const;
const LIMIT_KEYS: KeysOf<HarnessBudgets> = {
  maxModelCalls: true,
  maxToolCalls: true,
  maxTokens: true,
  maxRevisions: true,
};

/**
 * Checks budgets and returns a frozen copy. Fails with VALIDATION_ERROR where one is
 * not known, or not an integer from 0.
 */
export function checkBudgets(budgets: HarnessBudgets): Readonly<HarnessBudgets> {
  refuseUnknownKeys("budgets", budgets, LIMIT_KEYS);
  const checked: HarnessBudgets = {};
  for (const limit of LIMITS) {
    const value = budgets[limit];
    if (value === undefined) continue;
    if (!Number.isSafeInteger(value) || value < 0) {
      throw invalid(`budgets.${limit}`, `${String(value)} is not an integer from 0`);
    }
    checked[limit] = value;
  }
  return Object.freeze(checked);
}

/** Returns the lower of each limit. */
export function narrowBudgets(
  host: Readonly<HarnessBudgets>,
  wanted: Readonly<HarnessBudgets>,
): Readonly<HarnessBudgets> {
  const narrowed: HarnessBudgets = {};
  for (const limit of LIMITS) {
    const limits = [host[limit], wanted[limit]].filter((value) => value !== undefined);
    if (limits.length > 0) narrowed[limit] = Math.min(...limits);
  }
  return Object.freeze(narrowed);
}

/** A part of the token budget that one model call holds while it runs. */
export interface Reservation {
  /** The most tokens that the call may write; unset where there is no limit. */
  readonly maxTokens?: number;
  /** Gives back what it holds; idempotent. */
  release(): void;
}

/** What a run used before a crash, as its log has it. */
export interface UsedBefore {
  readonly usage: TokenUsage;
  readonly modelCalls: number;
  readonly toolCalls: number;
}

const NOTHING_USED: UsedBefore = { usage: NO_USAGE, modelCalls: 0, toolCalls: 0 };

/** Counts what one run uses, against its budgets. Concurrent calls see each other's reservations. */
export class BudgetLedger {
  readonly #limits: Readonly<HarnessBudgets>;
  #modelCalls: number;
  #toolCalls: number;
  #reserved = 0;
  #usage: TokenUsage;

  constructor(limits: Readonly<HarnessBudgets>, { usage, modelCalls, toolCalls }: UsedBefore = NOTHING_USED) {
    this.#limits = limits;
    this.#usage = usage;
    this.#modelCalls = modelCalls;
    this.#toolCalls = toolCalls;
  }

  /** What model calls used so far. */
  get usage(): TokenUsage {
    return this.#usage;
  }

  get modelCalls(): number {
    return this.#modelCalls;
  }

  get toolCalls(): number {
    return this.#toolCalls;
  }

  /** Whether no further model call can be made, whatever is given back. */
  get exhausted(): boolean {
    const { maxModelCalls, maxTokens } = this.#limits;
    const noCalls = maxModelCalls !== undefined && this.#modelCalls >= maxModelCalls;
    return noCalls || (maxTokens !== undefined && this.#usage.totalTokens >= maxTokens);
  }

  /** Revisions that one turn may have. */
  get maxRevisions(): number {
    return this.#limits.maxRevisions ?? 0;
  }

  /** Counts a model call about to be made. Throws {@link HarnessBudgetError} where none is left. */
  countModelCall(): void {
    const { maxModelCalls } = this.#limits;
    if (maxModelCalls !== undefined && this.#modelCalls >= maxModelCalls) {
      throw new HarnessBudgetError(`all ${maxModelCalls} model calls of this run are used`);
    }
    this.#modelCalls++;
  }

  /** Counts a tool call about to be made; false where none is left. The attempt counts either way. */
  countToolCall(): boolean {
    const { maxToolCalls } = this.#limits;
    this.#toolCalls++;
    return maxToolCalls === undefined || this.#toolCalls <= maxToolCalls;
  }

  /**
   * Holds `wanted` tokens (unset: all that is left) for one call, or fewer where
   * fewer are left. Throws {@link HarnessBudgetError} where none is.
   */
  reserveTokens(wanted: number | undefined): Reservation {
    const { maxTokens } = this.#limits;
    if (maxTokens === undefined) return { ...(wanted === undefined ? {} : { maxTokens: wanted }), release: () => {} };
    const used = this.#usage.totalTokens;
    if (used >= maxTokens) throw new HarnessBudgetError(`all ${maxTokens} tokens of this run are used`);
    const left = maxTokens - used - this.#reserved;
    if (left <= 0) {
      throw new HarnessBudgetError(
        `the last ${maxTokens - used} tokens of this run are held by calls under way; give each call its own maxTokens`,
      );
    }
    const held = Math.min(wanted ?? left, left);
    this.#reserved += held;
    let open = true;
    return {
      maxTokens: held,
      release: () => {
        if (open) this.#reserved -= held;
        open = false;
      },
    };
  }

  /** Adds what a call used. Throws a TypeError where a number is negative or not finite; then nothing is added. */
  account(usage: TokenUsage): void {
    this.#usage = addUsage(this.#usage, usage);
  }
}

/** Returns the sum of two usages. Throws a TypeError where a number is negative or not finite. */
export function addUsage(left: TokenUsage, right: TokenUsage): TokenUsage {
  const sum = (key: keyof TokenUsage): number => (left[key] ?? 0) + checkCount(key, right[key] ?? 0);
  const cached = left.cachedTokens !== undefined || right.cachedTokens !== undefined;
  const reasoning = left.reasoningTokens !== undefined || right.reasoningTokens !== undefined;
  return {
    promptTokens: sum("promptTokens"),
    completionTokens: sum("completionTokens"),
    totalTokens: sum("totalTokens"),
    ...(cached ? { cachedTokens: sum("cachedTokens") } : {}),
    ...(reasoning ? { reasoningTokens: sum("reasoningTokens") } : {}),
  };
}

function checkCount(key: string, value: number): number {
  if (!Number.isFinite(value) || value < 0)
    throw new TypeError(`the usage's ${key} is ${value}; it must be a finite number from 0`);
  return value;
}
