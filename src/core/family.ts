import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { LiveExecution } from "./live-execution.js";
import type { LiveSet } from "./live-set.js";
import type { Log } from "./provider.js";
import type { Store } from "./store.js";
import type { Timers } from "./timers.js";

/** What parents and children are found with. */
export interface FamilyOptions {
  readonly store: Store;
  readonly log: Log;
  readonly live: LiveSet;
  readonly timers: Timers;
}

const RETRY_MS = 1000;

/** Cancelling a parent cancels its children, whatever comes between. */
export class Family {
  readonly #options: FamilyOptions;
  readonly #cascaded = new WeakSet<LiveExecution>();

  constructor(options: FamilyOptions) {
    this.#options = options;
  }

  /** A parent was cancelled: its children are, once. */
  cascade(parent: LiveExecution): void {
    if (this.#cascaded.has(parent)) return;
    this.#cascaded.add(parent);
    const { executionId } = parent.key;
    for (const child of this.#options.live.childrenOf(executionId)) this.#cancel(child, executionId);
  }

  /** Takes a new child in. Its parent may have been cancelled while it was being stored: the cascade did not see it then. */
  join(child: LiveExecution): void {
    if (child.writer.committed.execution.parentExecutionId === "") return;
    this.cancelOrphaned(child).catch((error: unknown) => {
      const { log, timers } = this.#options;
      log.error({ executionId: child.key.executionId, error }, "a parent was not read; trying again");
      timers.after(RETRY_MS, () => this.join(child));
    });
  }

  /** Cancels a child whose parent is cancelled; fails where the store cannot be used. */
  async cancelOrphaned(child: LiveExecution): Promise<void> {
    const { live, store } = this.#options;
    const { parentExecutionId } = child.writer.committed.execution;
    if (parentExecutionId === "") return;
    const parent = live.find(child.key.tenantId, parentExecutionId)?.writer.committed.execution;
    const stored = parent ?? (await store.getExecution({ ...child.key, executionId: parentExecutionId }));
    const cancelled = stored?.state === ExecutionState.CANCELLED || stored?.state === ExecutionState.CANCELLING;
    if (cancelled) await child.cancel(reasonOf(parentExecutionId), undefined);
  }

  #cancel(child: LiveExecution, parentExecutionId: string): void {
    child.cancel(reasonOf(parentExecutionId), undefined).catch((error: unknown) => {
      const { log, timers } = this.#options;
      log.error({ executionId: child.key.executionId, error }, "a child was not cancelled; trying again");
      timers.after(RETRY_MS, () => this.#cancel(child, parentExecutionId));
    });
  }
}

function reasonOf(parentExecutionId: string): string {
  return `the parent execution ${parentExecutionId} was cancelled`;
}
