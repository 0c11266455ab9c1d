import { agentError } from "./failure.js";
import type { AgentSettings } from "./settings.js";

/** Returns the login to make where an agent asks for one: what is set, else what fits a credential that the agent was given. Empty: none. */
export function loginMethod(
  { authMethod, logins }: Pick<AgentSettings, "authMethod" | "logins">,
  env: Readonly<Record<string, string>>,
  offered: readonly string[],
): string {
  if (authMethod !== "") return authMethod;
  const known = Object.entries(logins).find(([name, id]) => env[name] && offered.includes(id));
  return known?.[1] ?? "";
}

/** The error for an agent that asks for a login, or that refused the one which was `tried`. */
export function loginRequired(
  { label, login }: Pick<AgentSettings, "label" | "login">,
  { offered, tried, said }: { readonly offered: readonly string[]; readonly tried: string; readonly said: string },
  cause: unknown,
): Error {
  const ways = offered.length === 0 ? "" : `, or set auth_method to one of ${offered.join(", ")}`;
  const message =
    tried === ""
      ? `${label} needs a login: ${login}${ways} (${said})`
      : `${label} needs a login, and did not take ${tried} (${said}): see whether its credential is right, or ${login}`;
  return agentError("login_required", message, "", cause);
}
