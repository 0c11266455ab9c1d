import { isIP } from "node:net";
import { invalid } from "../core/errors.js";

export interface AccessOptions {
  /** Whether callers must present credentials. */
  readonly authenticated: boolean;
  /** The address that the server binds to. */
  readonly host: string;
  /** Further names that the server is reached by, with or without a port; `*` is any. */
  readonly allowedHosts: readonly string[];
  /** Origins of pages that may call from a browser, such as `https://app.example`; `*` is any. */
  readonly corsOrigins: readonly string[];
}

/** What of a request says where it comes from. */
export interface RequestSource {
  /** `Host` or `:authority`. */
  readonly authority: string | undefined;
  readonly encrypted: boolean;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`, which only browsers send. */
  readonly fetchSite: string | undefined;
}

/** Decides by names alone whether a request may go on; credentials come later. */
export interface AccessPolicy {
  /** Why the name that the request was sent to is refused (DNS rebinding); undefined where it is not. */
  refuseHost(source: RequestSource): string | undefined;
  /** Why the page that sent the request is refused (cross-site calls); undefined where it is not. */
  refuseOrigin(source: RequestSource): string | undefined;
  /** Whether a page of this origin may read responses. */
  allowsCors(origin: string): boolean;
}

const MAX_REMEMBERED = 100;

/**
 * A server on a loopback address, or one that asks for no credentials, is
 * called by IP address, as `localhost`, or by a name it was given: any other
 * name may be a page's own, pointed here. Pages of other origins are refused
 * unless listed, because a browser would lend them the machine's reach.
 */
export function createAccessPolicy(options: AccessOptions): AccessPolicy {
  const anyOrigin = options.corsOrigins.includes("*");
  if (anyOrigin && !options.authenticated) {
    throw invalid(
      "allowed_origins",
      "`*` lets every web page run agents here: list origins, or turn authentication on",
    );
  }
  const origins = new Set(options.corsOrigins.map((origin) => origin.toLowerCase().replace(/\/$/, "")));
  const hosts = new Set(options.allowedHosts.map((host) => host.toLowerCase()));
  const anyHost = hosts.has("*") || (options.authenticated && !isLoopback(options.host) && hosts.size === 0);
  /** Names that were looked at before: every call asks. */
  const admitted = new Set<string>();
  const isAdmitted = (authority: string): boolean => {
    if (admitted.has(authority)) return true;
    const name = authority.toLowerCase();
    const isOurs = hosts.has(name) || hosts.has(hostname(name)) || isSafeName(hostname(name));
    if (isOurs && admitted.size < MAX_REMEMBERED) admitted.add(authority);
    return isOurs;
  };
  const allowsCors = (origin: string): boolean => anyOrigin || origins.has(origin.toLowerCase());
  return {
    allowsCors,
    refuseHost({ authority }) {
      if (authority === undefined || authority === "") return "the request names no host";
      if (anyHost || isAdmitted(authority)) return undefined;
      return `the host ${JSON.stringify(authority)} is not one of this server's names: add it to allowed_hosts`;
    },
    refuseOrigin(source) {
      const { origin, fetchSite } = source;
      if (origin === undefined) {
        return fetchSite === "cross-site" || fetchSite === "same-site"
          ? "the page that calls is of another origin"
          : undefined;
      }
      if (allowsCors(origin) || isSameOrigin(origin, source)) return undefined;
      return `pages of the origin ${JSON.stringify(origin)} may not call: add it to allowed_origins`;
    },
  };
}

/** Whether an address to bind to is reached from this machine alone. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/** A name that no DNS answer can point elsewhere. */
function isSafeName(name: string): boolean {
  return isIP(name) !== 0 || name === "localhost" || name.endsWith(".localhost");
}

function isSameOrigin(origin: string, { authority, encrypted }: RequestSource): boolean {
  return origin.toLowerCase() === `${encrypted ? "https" : "http"}://${authority?.toLowerCase()}`;
}

/** An authority without its port and without the brackets of IPv6. */
function hostname(authority: string): string {
  const bracketed = /^\[(.*)\](?::\d+)?$/.exec(authority)?.[1];
  return bracketed ?? authority.replace(/:\d+$/, "");
}
