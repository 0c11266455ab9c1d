import { type Clock, systemClock } from "../core/clock.js";
import { messageOf } from "./errors.js";
import type { ToolCall } from "./message.js";

/**
 * Decides for the host which calls need somebody's word, and collects it. Every
 * request is also an action in the run's log, which any client may answer; the
 * first answer counts.
 */
export interface ApprovalManager {
  /** Which calls need approval beyond those that a policy or a tool asks for. */
  readonly policy: "none" | "all" | readonly string[];
  /** How long a request waits. Default 300,000. */
  readonly timeoutMs: number;
  /** What happens then; `throw` fails the run with ACTION_TIMEOUT. Default `deny`. */
  readonly timeoutAction: "deny" | "approve" | "throw";
  /** Files a request and resolves once it is decided, here or elsewhere (see `settle`). Rejects never. */
  check(request: ApprovalRequest): Promise<ApprovalDecision>;
  /** Approves a pending request; false where there is none of this id. */
  approve(id: string, reason?: string): boolean;
  /** Denies a pending request; false where there is none of this id. */
  deny(id: string, reason?: string): boolean;
  /** The requests that wait, oldest first. Scopes never reach over tenants. */
  listPending(scope: ApprovalScope): readonly ApprovalRequest[];
  /** Denies whatever a run still waits for. */
  cancelRun(runId: string): void;
  /** Denies everything that waits and everything that comes. */
  close(): void;
}

/** One call that waits for somebody's word. */
export interface ApprovalRequest {
  readonly id: string;
  readonly runId: string;
  readonly sessionId: string;
  readonly tenantId: string;
  readonly userId: string;
  /** A copy: changing it changes nothing. */
  readonly call: ToolCall;
  /** Why the policy asks. */
  readonly reason?: string;
}

export interface ApprovalDecision {
  readonly approved: boolean;
  readonly reason?: string;
  /** Who decided: the callback, a call of `approve` or `deny`, the clock, or `cancelRun` and `close`. */
  readonly by: "callback" | "host" | "timeout" | "cancelled";
}

/** Which pending requests to list; every field that is set must match. */
export interface ApprovalScope {
  readonly tenantId: string;
  readonly userId?: string;
  readonly sessionId?: string;
  readonly runId?: string;
}

export interface ApprovalOptions {
  /** Default `none`: only what a policy or a tool asks for. */
  readonly policy?: ApprovalManager["policy"];
  /** Answers at once, such as from a prompt on a terminal; returning nothing leaves it to `approve` and `deny`. A rejection denies. */
  readonly onApproval?: (
    request: ApprovalRequest,
  ) => Promise<{ approved: boolean; reason?: string } | undefined> | { approved: boolean; reason?: string } | undefined;
  /** Milliseconds. Default 300,000. */
  readonly timeoutMs?: number;
  /** Default `deny`. */
  readonly timeoutAction?: ApprovalManager["timeoutAction"];
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

interface Pending {
  readonly request: ApprovalRequest;
  readonly settle: (decision: ApprovalDecision) => void;
}

/** Returns an approval manager that keeps what is pending in memory. */
export function createApprovalManager(options: ApprovalOptions = {}): ApprovalManager {
  return new MemoryApprovals(options);
}

/** Returns whether a manager's own policy wants somebody's word on a tool. */
export function wantsApproval(manager: ApprovalManager | undefined, toolName: string): boolean {
  if (manager === undefined || manager.policy === "none") return false;
  return manager.policy === "all" || manager.policy.includes(toolName);
}

class MemoryApprovals implements ApprovalManager {
  readonly policy: ApprovalManager["policy"];
  readonly timeoutMs: number;
  readonly timeoutAction: ApprovalManager["timeoutAction"];
  readonly #onApproval: ApprovalOptions["onApproval"];
  readonly #clock: Clock;
  readonly #pending = new Map<string, Pending>();
  #closed = false;

  constructor(options: ApprovalOptions) {
    this.policy = options.policy ?? "none";
    this.timeoutMs = options.timeoutMs ?? 300_000;
    this.timeoutAction = options.timeoutAction ?? "deny";
    this.#onApproval = options.onApproval;
    this.#clock = options.clock ?? systemClock;
  }

  check(request: ApprovalRequest): Promise<ApprovalDecision> {
    if (this.#closed) return Promise.resolve(cancelled(CLOSED));
    return new Promise((resolve) => {
      const stopTimer = this.#clock.after(this.timeoutMs, () => this.#settle(request.id, this.#timedOut()));
      this.#pending.set(request.id, {
        request,
        settle: (decision) => {
          stopTimer();
          resolve(decision);
        },
      });
      void this.#askCallback(request);
    });
  }

  approve(id: string, reason?: string): boolean {
    return this.#settle(id, { approved: true, by: "host", ...(reason === undefined ? {} : { reason }) });
  }

  deny(id: string, reason?: string): boolean {
    return this.#settle(id, { approved: false, by: "host", ...(reason === undefined ? {} : { reason }) });
  }

  listPending(scope: ApprovalScope): readonly ApprovalRequest[] {
    return [...this.#pending.values()]
      .map(({ request }) => request)
      .filter(
        (request) =>
          request.tenantId === scope.tenantId &&
          (scope.userId ?? request.userId) === request.userId &&
          (scope.sessionId ?? request.sessionId) === request.sessionId &&
          (scope.runId ?? request.runId) === request.runId,
      );
  }

  cancelRun(runId: string): void {
    for (const { request } of [...this.#pending.values()]) {
      if (request.runId === runId) this.#settle(request.id, cancelled("the run's approvals were called off"));
    }
  }

  close(): void {
    this.#closed = true;
    for (const id of [...this.#pending.keys()]) this.#settle(id, cancelled(CLOSED));
  }

  async #askCallback(request: ApprovalRequest): Promise<void> {
    if (this.#onApproval === undefined) return;
    try {
      const answer = await this.#onApproval({ ...request, call: structuredClone(request.call) });
      if (answer !== undefined) this.#settle(request.id, { ...answer, by: "callback" });
    } catch (error) {
      this.#settle(request.id, { approved: false, by: "callback", reason: messageOf(error) });
    }
  }

  #timedOut(): ApprovalDecision {
    return {
      approved: this.timeoutAction === "approve",
      by: "timeout",
      reason: `nobody answered in ${this.timeoutMs} ms`,
    };
  }

  #settle(id: string, decision: ApprovalDecision): boolean {
    const pending = this.#pending.get(id);
    if (pending === undefined) return false;
    this.#pending.delete(id);
    pending.settle(decision);
    return true;
  }
}

const CLOSED = "the approval manager was closed";

function cancelled(reason: string): ApprovalDecision {
  return { approved: false, by: "cancelled", reason };
}
