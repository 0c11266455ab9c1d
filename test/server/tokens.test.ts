import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openTokens } from "../../src/server/tokens.js";

async function open() {
  const folder = await mkdtemp(join(tmpdir(), "tokens-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "data", "tokens.json");
  const clock = { ms: 1_000_000 };
  return { path, clock, tokens: openTokens(path, () => clock.ms) };
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
  const { tokens, path, clock } = await open();
  const other = openTokens(path, () => clock.ms);
  expect(await tokens.authenticate(bearer("hrt_a_b"))).toBeUndefined();
  const { secret, token } = await other.create({ tenantId: "acme", userId: "ann" });
  clock.ms += 1_000;
  expect(await tokens.authenticate(bearer(secret))).toBeDefined();
  await other.revoke(token.id);
  expect(await tokens.authenticate(bearer(secret))).toBeDefined();
  clock.ms += 1_000;
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
])("%j is not a token", async (token, field) => {
  const { tokens } = await open();
  await expect(tokens.create(token)).rejects.toMatchObject({ metadata: { field } });
});

test("a damaged file is an error that names it, never an empty list", async () => {
  const { tokens, path } = await open();
  const { secret } = await tokens.create({ tenantId: "acme", userId: "ann" });
  await writeFile(path, "{}");
  await expect(tokens.list()).rejects.toThrow(path);
  await expect(tokens.authenticate(bearer(secret))).rejects.toThrow(path);
});
