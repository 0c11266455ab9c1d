import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { expect, onTestFinished, test } from "vitest";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ProviderManifestSchema } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { fileOfManifests } from "../../../src/providers/remote/known-manifests.js";

async function fileName(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "manifests-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, "remote-providers.json");
}

test("what is saved is loaded, and nothing where nothing was saved", async () => {
  const known = fileOfManifests(await fileName());
  expect(await known.load()).toEqual([]);
  const manifest = create(ProviderManifestSchema, { id: "far", version: "1" });
  await known.save([manifest]);
  expect(await known.load()).toEqual([manifest]);
});

test.each(["", "[{", "{}", "null", "[1]", '[{"id":1}]'])(
  "the damaged file %j is an error that names it and the way out",
  async (text) => {
    const file = await fileName();
    await writeFile(file, text);
    await expect(fileOfManifests(file).load()).rejects.toMatchObject({
      reason: ErrorReason.STORE_UNAVAILABLE,
      metadata: { file },
      message: expect.stringMatching(/ is damaged: restore it from a backup, or move it away: .* dials in$/),
    });
  },
);

test("a file that cannot be read is an error that names it and why", async () => {
  const file = await fileName();
  await mkdir(file);
  await expect(fileOfManifests(file).load()).rejects.toMatchObject({
    reason: ErrorReason.STORE_UNAVAILABLE,
    metadata: { file },
    message: expect.stringMatching(/ cannot be read \(EISDIR/),
  });
});
