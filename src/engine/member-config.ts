import { invalid } from "../core/errors.js";
import { checkBudgets } from "./budgets.js";
import type { EngineConfig } from "./config.js";
import type { TeamMember } from "./driver.js";
import { checkDriver } from "./driver-check.js";
import { checkGrants, type EffectiveGrants } from "./grants.js";
import { type KeysOf, refuseUnknownKeys } from "./known-keys.js";
import { DEFAULT_ROLE } from "./model.js";
import { createMemorySessions } from "./session-store.js";
import { snapshotDriver } from "./snapshot.js";

const MEMBER_KEYS: KeysOf<TeamMember> = { driver: true, grants: true, budgets: true };

/** Fails where a member of the driver's, or of one of them, cannot run. */
export function checkMembers(team: EngineConfig): void {
  for (const [name, member] of Object.entries(team.driver.members ?? {})) {
    refuseUnknownKeys(`driver.members.${name}`, member, MEMBER_KEYS);
    if (!/^[A-Za-z0-9_-]+$/.test(name)) {
      throw invalid("driver.members", `${JSON.stringify(name)} is no name; use letters, digits, _ and -`);
    }
    checkMembers(memberConfig(team, member));
  }
}

/**
 * Returns the configuration of a team's member: the team's tools, models, policies and stores, with the member's
 * own driver, grants and budgets. Fails as the team's own configuration does.
 */
export function memberConfig(team: EngineConfig, { driver, grants, budgets }: TeamMember): EngineConfig {
  const own = checkGrants(grants ?? { toolIds: [], modelRoles: [] });
  mustBind(own, team.models);
  checkDriver(driver, { governed: true, durableStore: team.durableStore });
  return Object.freeze({
    ...team,
    driver: snapshotDriver(driver),
    grants: own,
    budgets: checkBudgets(budgets ?? {}),
    definition: undefined,
    controller: undefined,
    completionPolicy: undefined,
    sessions: createMemorySessions(),
    ownSessions: false,
    dropsChildren: true,
  });
}

/** Fails where a role is granted that no model answers for. */
export function mustBind({ modelRoles }: EffectiveGrants, models: EngineConfig["models"]): void {
  for (const role of modelRoles) {
    if (role !== DEFAULT_ROLE && models[role] === undefined) {
      throw invalid(`models.${role}`, "is granted and bound to no model; bind the role to a model provider");
    }
  }
}
