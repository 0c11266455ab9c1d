import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type ProviderManifest, ProviderManifestSchema } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { HarnessError } from "../../core/errors.js";
import { replaceFile } from "../../core/replace-file.js";

/**
 * The providers that ever dialled in, over restarts of the runtime: one that has
 * not come back yet is known and not available, and its executions wait for it.
 */
export interface KnownManifests {
  /** Fails with STORE_UNAVAILABLE where what is kept cannot be read. */
  load(): Promise<readonly ProviderManifest[]>;
  /** Keeps all of `manifests`, and nothing else. */
  save(manifests: readonly ProviderManifest[]): Promise<void>;
}

/** Keeps them in a JSON file, which is made at the first `save`. */
export function fileOfManifests(path: string): KnownManifests {
  let last: Promise<void> = Promise.resolve();
  const write = async (text: string): Promise<void> => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await replaceFile(path, text);
  };
  return {
    async load() {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return "[]";
        throw unusable(path, `cannot be read (${error.message}): give the server's user the right to read it`, error);
      });
      try {
        return (JSON.parse(text) as JsonValue[]).map((json) => fromJson(ProviderManifestSchema, json));
      } catch (error) {
        const mend = "restore it from a backup, or move it away: each provider is known again once it dials in";
        throw unusable(path, `is damaged: ${mend}`, error);
      }
    },
    save(manifests) {
      const text = JSON.stringify(manifests.map((manifest) => toJson(ProviderManifestSchema, manifest)));
      last = last.catch(() => undefined).then(() => write(text));
      return last;
    },
  };
}

function unusable(path: string, why: string, cause: unknown): HarnessError {
  const message = `the file of providers that dialled in, ${path}, ${why}`;
  return new HarnessError(ErrorReason.STORE_UNAVAILABLE, message, { file: path }, { cause });
}
