import { create } from "@bufbuild/protobuf";
import {
  type ProviderManifest,
  ProviderManifestSchema,
  SupportLevel,
  Topology,
} from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { EngineConfig } from "./config.js";
import { isGovernable } from "./driver-check.js";
import { ON_CONFLICT_KEY, SESSION_KEY } from "./run-identity.js";

const { NATIVE, UNSUPPORTED } = SupportLevel;

/** Returns what a driver's provider says of itself: what the driver declares, and what the engine adds to any driver. */
export function toManifest(config: EngineConfig, id: string): ProviderManifest {
  const { driver, completionPolicy, served, onConflict } = config;
  const { controls, durable } = driver.capabilities;
  const has = (condition: boolean): SupportLevel => (condition ? NATIVE : UNSUPPORTED);
  const governable = isGovernable(driver);
  return create(ProviderManifestSchema, {
    id,
    name: driver.id,
    version: String(driver.version),
    protocolVersion: "2026-09-02",
    topologies: [Topology.EMBEDDED],
    capabilities: {
      "action.approval": NATIVE,
      "action.input": NATIVE,
      "artifact.list": NATIVE,
      "execution.cancel": NATIVE,
      "execution.resume": has(durable && driver.resume !== undefined),
      // In the embedded runtime the session's lease orders runs, and the core must not queue them as well.
      "conversation.continuity": has(served),
      "event.replay": NATIVE,
      "event.streaming": NATIVE,
      "input.follow_up": has(controls.includes("follow_up")),
      "input.steer": has(controls.includes("steer")),
      "input.replace": has(controls.includes("replace")),
      "policy.grants": has(governable),
      "policy.plan": has(governable),
      "policy.completion": has(completionPolicy !== undefined),
      "extension.subagents": has(driver.members !== undefined),
    },
    configSchema: {
      type: "object",
      properties: {
        [SESSION_KEY]: {
          type: "string",
          minLength: 1,
          description: "The session to go on with. Default: the conversation's own.",
        },
        [ON_CONFLICT_KEY]: {
          type: "string",
          enum: ["refuse", "queue"],
          description: `What to do while another execution has the session. Default: ${onConflict}.`,
        },
      },
      additionalProperties: false,
    },
  });
}

/** Returns a provider id for a driver's id: what ids may not hold becomes a hyphen. */
export function toProviderId(driverId: string): string {
  const id = driverId.replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 100);
  return /^[A-Za-z0-9]/.test(id) ? id : `d${id}`.slice(0, 100);
}
