import { fromContent } from "./contract-values.js";
import type { TurnScope } from "./turn-scope.js";

/**
 * Takes a turn's steers over as they come, for `takeInput`, until the function
 * that it returns is called: what comes later stays unconsumed. That resolves once
 * nothing more is taken over, and never rejects.
 */
export function pumpSteers({ run, context }: TurnScope): () => Promise<void> {
  if (!run.config.driver.capabilities.controls.includes("steer")) return async () => {};
  const steers = context.steers()[Symbol.asyncIterator]();
  const pump = async (): Promise<void> => {
    try {
      for (let next = await steers.next(); next.done !== true; next = await steers.next()) {
        run.steers.push(fromContent(next.value));
      }
    } catch {
      // The store or the turn failed: the turn itself says so.
    }
  };
  const pumping = pump();
  return async () => {
    steers.return?.().catch(() => {});
    await pumping;
  };
}
