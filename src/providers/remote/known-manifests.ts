import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type ProviderManifest, ProviderManifestSchema } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";

/**
 * The providers that ever dialled in, over restarts of the runtime: one that has
 * not come back yet is known and not available, and its executions wait for it.
 */
export interface KnownManifests {
  load(): Promise<readonly ProviderManifest[]>;
  /** Keeps all of `manifests`, and nothing else. */
  save(manifests: readonly ProviderManifest[]): Promise<void>;
}

/** Keeps them in a JSON file, which is made at the first `save`. */
export function fileOfManifests(path: string): KnownManifests {
  let last: Promise<void> = Promise.resolve();
  return {
    async load() {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return "[]";
        throw error;
      });
      return (JSON.parse(text) as JsonValue[]).map((json) => fromJson(ProviderManifestSchema, json));
    },
    save(manifests) {
      const text = JSON.stringify(manifests.map((manifest) => toJson(ProviderManifestSchema, manifest)));
      last = last.catch(() => undefined).then(() => replaceFile(path, text));
      return last;
    },
  };
}

async function replaceFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(`${path}.new`, text, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}
