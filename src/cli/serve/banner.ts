import type { Provider } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { DEFAULT_URL } from "../client-options.js";
import { paint } from "../terminal/style.js";

/** What a server that has begun says of itself. */
export interface BannerFacts {
  readonly version: string;
  readonly url: string;
  /** Where everything is kept, such as `sqlite in .harness`. */
  readonly keeps: string;
  readonly providers: readonly Pick<Provider, "manifest" | "available">[];
  readonly authenticated: boolean;
  /** The data folder, where another than the default was named. */
  readonly data?: string | undefined;
}

/** Returns what is printed when the server is ready: where it is, and what to try next, ready to be pasted. */
export function bannerText({ version, url, keeps, providers, authenticated, data }: BannerFacts): string {
  const ids = providers.filter(({ available }) => available).map(({ manifest }) => manifest?.id ?? "");
  const first = `harness ${version} serves ${paint("bold", url)} (${keeps}; providers: ${ids.join(", ") || "none"})`;
  const id = ids.includes("scripted") ? "scripted" : (ids[0] ?? "PROVIDER");
  const token = authenticated ? [`export HARNESS_TOKEN=$(npx harness token create --user me${dataOption(data)})`] : [];
  const lines = [...token, ...commands(url, id, authenticated)].map((line) => `  ${line}\n`);
  return `${first}\n\nOpen ${url} in a browser, or try, in another shell:\n${lines.join("")}\n`;
}

/** Tokens are in the data folder, so that a command that makes one must name the same. */
function dataOption(data: string | undefined): string {
  if (data === undefined) return "";
  return ` --data ${/^[\w./-]+$/.test(data) ? data : `'${data.replaceAll("'", "'\\''")}'`}`;
}

function commands(url: string, providerId: string, authenticated: boolean): readonly string[] {
  const method = "harnessruntime.v1.ExecutionService/StartExecution";
  const header = authenticated ? ` -H "authorization: Bearer $HARNESS_TOKEN"` : "";
  const body = `'{"provider_id":"${providerId}","input":{"text":"hello"}}'`;
  const plaintext = url.startsWith("http:") ? " -plaintext" : "";
  return [
    `npx harness run ${providerId} "hello"${url === DEFAULT_URL ? "" : ` --url ${url}`}`,
    `curl${header} -H "content-type: application/json" -d ${body} ${url}/${method}`,
    `grpcurl${plaintext}${header} -d ${body} ${new URL(url).host} ${method}`,
  ];
}
