import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { stat } from "node:fs/promises";
import { invalid, notFound } from "../core/errors.js";
import { type Authenticator, bearerToken, type Identity, SCOPES, type Scope } from "./auth.js";
import { readTokenFile, type TokenRow, updateTokenFile } from "./token-file.js";

/** What a token stands for; the secret itself is kept nowhere. */
export type Token = Omit<TokenRow, "hash">;

export interface NewToken {
  readonly tenantId: string;
  readonly userId: string;
  /** Default: all but `providers:connect`. */
  readonly scopes?: readonly string[];
  /** From now, in milliseconds, at most 100 years; unset never ends. */
  readonly lifetimeMs?: number;
  /** What it is for. */
  readonly note?: string;
}

/** Static bearer tokens, in one file that several processes may change. */
export interface Tokens extends Authenticator {
  /** Makes a token and returns its secret, which cannot be shown again. Fails with VALIDATION_ERROR. */
  create(token: NewToken): Promise<{ readonly token: Token; readonly secret: string }>;
  /** Returns all tokens, also those that have expired, oldest first. */
  list(): Promise<readonly Token[]>;
  /** Removes one; servers refuse it within a second. Fails with NOT_FOUND. */
  revoke(tokenId: string): Promise<Token>;
}

const PREFIX = "hrt";
const ID_BYTES = 6;
/** As many as an attacker would have to guess; so a fast hash is enough at rest. */
const SECRET_BYTES = 32;
const DEFAULT_SCOPES: readonly Scope[] = ["read", "run", "respond"];
/** How old what a server knows of the file may be, in milliseconds. */
const RELOAD_MS = 1_000;
/** 100 years. */
const LONGEST_LIFETIME_MS = 876_600 * 3_600_000;
/** What the hash of an unknown token is compared with, so that both take the same time. */
const NO_HASH = Buffer.alloc(32);

/**
 * Opens the tokens in the file `path`, which the first {@link Tokens.create}
 * makes. Where the file is damaged every call fails with STORE_UNAVAILABLE.
 * `elapsed` never goes back, as the time of day may.
 */
export function openTokens(
  path: string,
  now: () => number = Date.now,
  elapsed: () => number = () => performance.now(),
): Tokens {
  const cached = cacheRows(path, elapsed);
  return {
    async create({ tenantId, userId, scopes = DEFAULT_SCOPES, lifetimeMs, note = "" }) {
      const row: TokenRow = {
        id: randomBytes(ID_BYTES).toString("hex"),
        tenantId: mustName("tenant_id", tenantId),
        userId: mustName("user_id", userId),
        scopes: scopes.map(mustScope),
        createTimeMs: now(),
        ...(lifetimeMs !== undefined && { expireTimeMs: now() + mustLifetime(lifetimeMs) }),
        note,
        hash: "",
      };
      const secret = `${PREFIX}_${row.id}_${randomBytes(SECRET_BYTES).toString("base64url")}`;
      await updateTokenFile(path, (rows) => [...rows, { ...row, hash: hashOf(secret).toString("hex") }]);
      return { token: withoutHash(row), secret };
    },
    async list() {
      return (await readTokenFile(path)).map(withoutHash);
    },
    async revoke(tokenId) {
      let revoked: TokenRow | undefined;
      await updateTokenFile(path, (rows) => {
        revoked = rows.find((row) => row.id === tokenId);
        return rows.filter((row) => row !== revoked);
      });
      if (revoked === undefined) throw notFound("token", tokenId);
      return withoutHash(revoked);
    },
    async authenticate(credentials) {
      const secret = bearerToken(credentials);
      if (secret === undefined) return undefined;
      const row = (await cached()).get(secret.split("_", 2)[1] ?? "");
      const known = timingSafeEqual(hashOf(secret), row === undefined ? NO_HASH : Buffer.from(row.hash, "hex"));
      if (row === undefined || !known || (row.expireTimeMs ?? Number.POSITIVE_INFINITY) <= now()) return undefined;
      return toIdentity(row);
    },
  };
}

/** Returns a reader of the file's rows by ID that looks at the file at most once in {@link RELOAD_MS}. */
function cacheRows(path: string, elapsed: () => number): () => Promise<ReadonlyMap<string, TokenRow>> {
  let rows: ReadonlyMap<string, TokenRow> = new Map();
  let version = "";
  let lookedMs = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    const current = await versionOf(path);
    if (current !== version) {
      rows = new Map((await readTokenFile(path)).map((row) => [row.id, row]));
      version = current;
    }
    lookedMs = elapsed();
  };
  return async () => {
    if (elapsed() - lookedMs >= RELOAD_MS) {
      looking ??= look().finally(() => {
        looking = undefined;
      });
      await looking;
    }
    return rows;
  };
}

/** Changes whenever the file does: it is always replaced as a whole. */
async function versionOf(path: string): Promise<string> {
  try {
    const { ino, mtimeNs, size } = await stat(path, { bigint: true });
    return `${ino}:${mtimeNs}:${size}`;
  } catch (error) {
    // Any other error comes again, with its way out, when the file is read.
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "none" : "unknown";
  }
}

function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

function toIdentity({ tenantId, userId, scopes }: TokenRow): Identity {
  return { tenantId, userId, scopes: new Set(scopes) };
}

function withoutHash({ hash: _, ...token }: TokenRow): Token {
  return token;
}

function mustName(field: string, name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$/.test(name)) return name;
  throw invalid(field, "must be 1 to 100 characters from A-Z a-z 0-9 . _ @ -, and begin with a letter or digit");
}

function mustScope(scope: string): Scope {
  const known = SCOPES.find((name) => name === scope);
  if (known === undefined) throw invalid("scopes", `${JSON.stringify(scope)} is not one of ${SCOPES.join(", ")}`);
  return known;
}

function mustLifetime(lifetimeMs: number): number {
  if (lifetimeMs > 0 && lifetimeMs <= LONGEST_LIFETIME_MS) return lifetimeMs;
  throw invalid("lifetime", "must be positive and at most 876600h (100 years); without one a token never ends");
}
