import { fromContent } from "./contract-values.js";
import type { TurnScope } from "./turn-scope.js";

/**
 * Takes a turn's steers over as they come, for `takeInput`. What a turn does not
 * take stays for the next one. Resolves when the turn is over; never rejects.
 */
export async function pumpSteers(turn: TurnScope): Promise<void> {
  const { run, context } = turn;
  if (!run.config.driver.capabilities.controls.includes("steer")) return;
  try {
    for await (const steer of context.steers()) run.steers.push(fromContent(steer));
  } catch {
    // The store or the turn failed: the turn itself says so.
  }
}
