import { createHash } from "node:crypto";
import { toBinary, toJson } from "@bufbuild/protobuf";
import { type Register, RegisterSchema } from "../../../gen/ts/harnessruntime/provider/v1/provider_pb.js";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import {
  type ProviderManifest,
  ProviderManifestSchema,
  Topology,
} from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { HarnessError, invalid } from "../../core/errors.js";
import { compile } from "../../core/schema.js";
import { brokenRules } from "./rules.js";

/** The version of the protocol that providers dial in with. */
export const PROTOCOL_VERSION = "2026-09-02";

/**
 * Checks what an instance says of itself, and returns its manifest. Fails with
 * VALIDATION_ERROR or PROTOCOL_VERSION_UNSUPPORTED.
 */
export function checkRegister(register: Register): ProviderManifest {
  const violations = brokenRules(RegisterSchema, register);
  const [first] = violations;
  if (first !== undefined) {
    const { field, description } = first;
    throw new HarnessError(ErrorReason.VALIDATION_ERROR, `${field}: ${description}`, { field }, { violations });
  }
  const { manifest } = register;
  if (manifest === undefined) throw invalid("manifest", "it cannot be checked");
  if (manifest.protocolVersion !== PROTOCOL_VERSION) {
    throw new HarnessError(
      ErrorReason.PROTOCOL_VERSION_UNSUPPORTED,
      `the runtime speaks version ${PROTOCOL_VERSION} of the protocol, not ${JSON.stringify(manifest.protocolVersion)}`,
      { supported: PROTOCOL_VERSION },
    );
  }
  if (!manifest.topologies.includes(Topology.REMOTE)) throw invalid("manifest.topologies", "they must contain REMOTE");
  checkSchema(manifest);
  mustHaveJsonForm(manifest);
  return manifest;
}

/** Names a manifest: equal for equal ones. */
export function versionOf(manifest: ProviderManifest): string {
  const capabilities = Object.entries(manifest.capabilities).sort(([a], [b]) => (a < b ? -1 : 1));
  const rest = toBinary(ProviderManifestSchema, { ...manifest, capabilities: {} });
  return createHash("sha256").update(JSON.stringify(capabilities)).update(rest).digest("base64url");
}

/** A number that JSON has no form for would spoil every list of providers. */
function mustHaveJsonForm(manifest: ProviderManifest): void {
  try {
    toJson(ProviderManifestSchema, manifest);
  } catch (error) {
    throw invalid("manifest", error instanceof Error ? error.message : String(error));
  }
}

function checkSchema({ configSchema }: ProviderManifest): void {
  if (configSchema === undefined) return;
  try {
    compile(configSchema);
  } catch (error) {
    throw invalid("manifest.config_schema", error instanceof Error ? error.message : String(error));
  }
}
