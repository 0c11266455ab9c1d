import { mkdirSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { updateTokenFile } from "../../src/server/token-file.js";
import { openTokens } from "../../src/server/tokens.js";

async function open() {
  const folder = await mkdtemp(join(tmpdir(), "tokens-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "data", "tokens.json");
  const clock = { ms: 1_000_000 };
  const elapsed = { ms: 0 };
  const tokens = openTokens(
    path,
    () => clock.ms,
    () => elapsed.ms,
  );
  return { path, clock, elapsed, tokens };
}

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

test("a token yields its tenant, user and scopes", async () => {
  const { tokens } = await open();
  const { secret, token } = await tokens.create({
    tenantId: "acme",
    userId: "ann@acme",
    scopes: ["read", "providers:connect"],
  });
  expect(await tokens.authenticate(bearer(secret))).toEqual({
    tenantId: "acme",
    userId: "ann@acme",
    scopes: new Set(["read", "providers:connect"]),
  });
  expect(await tokens.list()).toEqual([token]);
});

test("without scopes a token may do all but provide", async () => {
  const { tokens } = await open();
  const { token } = await tokens.create({ tenantId: "acme", userId: "ann" });
  expect(token.scopes).toEqual(["read", "run", "respond"]);
});

test("the file keeps no secret and only its owner may read it", async () => {
  const { tokens, path } = await open();
  const { secret } = await tokens.create({ tenantId: "acme", userId: "ann" });
  expect(await readFile(path, "utf8")).not.toContain(secret.slice(-40));
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test.each([undefined, "", "Bearer", "Bearer ", "Basic YTpi", "Bearer hrt_x_y", "Bearer a b"])(
  "the credentials %j are nobody's",
  async (authorization) => {
    const { tokens } = await open();
    await tokens.create({ tenantId: "acme", userId: "ann" });
    expect(await tokens.authenticate({ authorization })).toBeUndefined();
  },
);

test("another secret under a known ID is nobody's", async () => {
  const { tokens } = await open();
  const { secret } = await tokens.create({ tenantId: "acme", userId: "ann" });
  const changed = secret.slice(0, -1) + (secret.endsWith("A") ? "B" : "A");
  expect(await tokens.authenticate(bearer(changed))).toBeUndefined();
});

test("a token is valid until it expires", async () => {
  const { tokens, clock } = await open();
  const { secret, token } = await tokens.create({ tenantId: "acme", userId: "ann", lifetimeMs: 500 });
  expect(token.expireTimeMs).toBe(1_000_500);
  clock.ms += 499;
  expect(await tokens.authenticate(bearer(secret))).toBeDefined();
  clock.ms += 1;
  expect(await tokens.authenticate(bearer(secret))).toBeUndefined();
});

test("a token that another process makes or revokes is known within a second", async () => {
  const { tokens, path, clock, elapsed } = await open();
  const other = openTokens(path);
  expect(await tokens.authenticate(bearer("hrt_a_b"))).toBeUndefined();
  const { secret, token } = await other.create({ tenantId: "acme", userId: "ann" });
  elapsed.ms += 1_000;
  expect(await tokens.authenticate(bearer(secret))).toBeDefined();
  await other.revoke(token.id);
  // A clock that is put right by an hour says nothing of how long ago the file was read.
  clock.ms -= 3_600_000;
  expect(await tokens.authenticate(bearer(secret))).toBeDefined();
  elapsed.ms += 1_000;
  expect(await tokens.authenticate(bearer(secret))).toBeUndefined();
  await expect(other.revoke(token.id)).rejects.toThrow(`no token has the ID "${token.id}"`);
});

test("tokens made at the same time are all kept", async () => {
  const { tokens, path } = await open();
  const others = Array.from({ length: 10 }, () => openTokens(path));
  await Promise.all(others.map((other) => other.create({ tenantId: "acme", userId: "ann" })));
  expect(await tokens.list()).toHaveLength(10);
});

test.each([
  [{ tenantId: "", userId: "ann" }, "tenant_id"],
  [{ tenantId: "acme", userId: "a b" }, "user_id"],
  [{ tenantId: "acme", userId: "ann", scopes: ["admin"] }, "scopes"],
  [{ tenantId: "acme", userId: "ann", lifetimeMs: 0 }, "lifetime"],
  [{ tenantId: "acme", userId: "ann", lifetimeMs: 99_999_999_999 * 3_600_000 }, "lifetime"],
])("%j is not a token", async (token, field) => {
  const { tokens } = await open();
  await expect(tokens.create(token)).rejects.toMatchObject({ metadata: { field } });
});

const ROW = { id: "a", tenantId: "t", userId: "u", scopes: [], createTimeMs: 1, note: "", hash: "0".repeat(64) };

test.each([
  "{}",
  '{"version":1,"tokens":[',
  JSON.stringify({ version: 2, tokens: [] }),
  JSON.stringify({ version: 1, tokens: [null] }),
  JSON.stringify({ version: 1, tokens: [{ ...ROW, hash: "abc" }] }),
  JSON.stringify({ version: 1, tokens: [{ ...ROW, scopes: "read" }] }),
])("the damaged file %s is an error that names it and the way out, never an empty list", async (text) => {
  const { tokens, path } = await open();
  const { secret } = await tokens.create({ tenantId: "acme", userId: "ann" });
  await writeFile(path, JSON.stringify({ version: 1, tokens: [ROW] }));
  expect(await tokens.list()).toHaveLength(1);
  await writeFile(path, text);
  const refusal = {
    reason: ErrorReason.STORE_UNAVAILABLE,
    metadata: { file: path },
    message: `the token file ${path} is damaged: restore it from a backup, or move it away and make new tokens with npx harness token create`,
  };
  await expect(tokens.list()).rejects.toMatchObject(refusal);
  await expect(tokens.authenticate(bearer(secret))).rejects.toMatchObject(refusal);
  await expect(tokens.create({ tenantId: "acme", userId: "ann" })).rejects.toMatchObject(refusal);
  expect(await readFile(path, "utf8")).toBe(text);
});

test("a file that cannot be read is an error that names it", async () => {
  const { tokens, path } = await open();
  await mkdir(path, { recursive: true });
  await expect(tokens.authenticate(bearer("hrt_a_b"))).rejects.toMatchObject({
    reason: ErrorReason.STORE_UNAVAILABLE,
    message: expect.stringContaining(`the token file ${path} cannot be read (EISDIR`),
  });
});

test("a file that cannot be written is an error that names it and the way out, and leaves nothing behind", async () => {
  const { tokens, path } = await open();
  const refusal = (code: string) => ({
    reason: ErrorReason.STORE_UNAVAILABLE,
    metadata: { file: path },
    message: expect.stringMatching(
      `the token file ${path} cannot be written \\(${code}: .*\\): make room on its disk, or give this user the right`,
    ),
  });
  await writeFile(dirname(path), "a file where the folder should be");
  await expect(tokens.create({ tenantId: "acme", userId: "ann" })).rejects.toMatchObject(refusal("EEXIST"));
  await rm(dirname(path));
  const update = updateTokenFile(path, (rows) => {
    mkdirSync(path);
    return rows;
  });
  await expect(update).rejects.toMatchObject(refusal("EISDIR"));
  expect(await readdir(dirname(path))).toEqual([basename(path)]);
});
