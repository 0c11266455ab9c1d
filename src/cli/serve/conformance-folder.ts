import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { type ConformanceResult, ConformanceResultSchema } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";

/** Keeps what a conformance run measured of a provider, in the data folder. */
export function writeConformance(data: string, providerId: string, result: ConformanceResult): void {
  mkdirSync(join(data, "conformance"), { recursive: true });
  writeFileSync(fileOf(data, providerId), toJsonString(ConformanceResultSchema, result, { prettySpaces: 2 }));
}

/** Returns what was measured of a provider last; undefined where nothing was, or the file is damaged. */
export function readConformance(data: string, providerId: string): ConformanceResult | undefined {
  try {
    return fromJsonString(ConformanceResultSchema, readFileSync(fileOf(data, providerId), "utf8"));
  } catch {
    return undefined;
  }
}

function fileOf(data: string, providerId: string): string {
  return join(data, "conformance", `${providerId}.json`);
}
