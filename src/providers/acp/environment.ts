import { delimiter } from "node:path";
import type { AgentSettings } from "./settings.js";

/** What every program needs to find its own, and no more. */
const ALWAYS = [
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE"],
  ...["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"],
  ...["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy"],
  ...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"],
];

/** Builds an agent's whole environment: a short list of the runtime's variables, those that are allowed, those that are set. */
export function buildEnvironment(
  { env, inheritEnv }: Pick<AgentSettings, "env" | "inheritEnv">,
  own: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const inherited = [...ALWAYS, ...inheritEnv].flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]]));
  const defaults = { PATH: ["/usr/local/bin", "/usr/bin", "/bin"].join(delimiter), LANG: "C.UTF-8", TERM: "dumb" };
  return { ...defaults, ...Object.fromEntries(inherited), ...env };
}
