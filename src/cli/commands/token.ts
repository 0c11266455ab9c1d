import { join } from "node:path";
import { openTokens, type Token, type Tokens } from "../../server/tokens.js";
import { parseDurationMs } from "../arguments.js";
import { EXIT } from "../cli-error.js";
import { TOKEN_FILE } from "../serve/data-folder.js";
import { type ConfigOptions, configOf } from "../server-options.js";
import { oneLine } from "../terminal/printable.js";
import { table } from "../terminal/table.js";

type TokenOptions = Pick<ConfigOptions, "config" | "data"> & { readonly json?: true };

export interface CreateTokenOptions extends TokenOptions {
  readonly tenant: string;
  readonly user: string;
  readonly scope?: readonly string[];
  readonly expires?: string;
  readonly note?: string;
}

/** Makes a token and prints its secret, which is shown this once. */
export async function createToken(options: CreateTokenOptions): Promise<number> {
  const { tenant, user, scope, expires, note } = options;
  const tokens = await openFile(options);
  const { token, secret } = await tokens.create({
    tenantId: tenant,
    userId: user,
    ...(scope === undefined ? {} : { scopes: scope }),
    ...(expires === undefined ? {} : { lifetimeMs: parseDurationMs("--expires", expires) }),
    ...(note === undefined ? {} : { note }),
  });
  if (options.json) process.stdout.write(`${JSON.stringify({ ...token, secret })}\n`);
  else {
    process.stdout.write(`${secret}\n`);
    if (process.stderr.isTTY) process.stderr.write(`token ${token.id} of ${tenant}/${user}; it is not shown again\n`);
  }
  return EXIT.ok;
}

/** Prints all tokens, without their secrets. */
export async function listTokens(options: TokenOptions): Promise<number> {
  const tokens = await (await openFile(options)).list();
  if (options.json) for (const token of tokens) process.stdout.write(`${JSON.stringify(token)}\n`);
  else process.stdout.write(tokens.length === 0 ? "no tokens\n" : tokensText(tokens));
  return EXIT.ok;
}

/** Revokes a token. */
export async function revokeToken(tokenId: string, options: TokenOptions): Promise<number> {
  const token = await (await openFile(options)).revoke(tokenId);
  process.stdout.write(options.json ? `${JSON.stringify(token)}\n` : `${token.id} is revoked\n`);
  return EXIT.ok;
}

async function openFile(options: TokenOptions): Promise<Tokens> {
  const { config } = await configOf(options);
  return openTokens(join(config.data, TOKEN_FILE));
}

function tokensText(tokens: readonly Token[]): string {
  const rows = tokens.map(({ id, tenantId, userId, scopes, createTimeMs, expireTimeMs, note }) => {
    return [id, tenantId, userId, scopes.join(","), dayOf(createTimeMs), dayOf(expireTimeMs), oneLine(note, 60)];
  });
  return table(["TOKEN", "TENANT", "USER", "SCOPES", "CREATED", "EXPIRES", "NOTE"], rows);
}

/** A time that is beyond every calendar, as older versions made them, is never. */
function dayOf(timeMs: number | undefined): string {
  const time = new Date(timeMs ?? Number.NaN);
  return Number.isNaN(time.getTime()) ? "never" : time.toISOString().slice(0, 10);
}
