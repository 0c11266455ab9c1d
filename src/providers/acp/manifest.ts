import { create } from "@bufbuild/protobuf";
import { Containment } from "../../../gen/ts/harnessruntime/v1/containment_pb.js";
import {
  type ProviderManifest,
  ProviderManifestSchema,
  SupportLevel,
  Topology,
} from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { AgentSettings } from "./settings.js";
import { CONFIG_SCHEMA } from "./settings-schema.js";

const { NATIVE, EMULATED, DEGRADED, UNSUPPORTED } = SupportLevel;

/** Says what an agent really does. `loadSession` and `containment` are known once the provider is open. */
export function createManifest(
  settings: AgentSettings,
  loadSession: boolean,
  containment: Containment | undefined,
): ProviderManifest {
  const { mcp } = settings;
  const takesMcp = Object.keys(mcp.servers).length + mcp.allowCommands.length + mcp.allowOrigins.length > 0;
  return create(ProviderManifestSchema, {
    id: settings.id,
    name: settings.label,
    version: "1.0.0",
    protocolVersion: "2026-09-02",
    topologies: [Topology.SUBPROCESS],
    configSchema: CONFIG_SCHEMA,
    capabilities: {
      "action.approval": NATIVE,
      "action.input": settings.elicitation ? NATIVE : UNSUPPORTED,
      "artifact.list": UNSUPPORTED,
      // Without session/load what was said before is told to the agent as text.
      "conversation.continuity": loadSession ? NATIVE : EMULATED,
      "event.replay": NATIVE,
      "event.streaming": NATIVE,
      "execution.cancel": NATIVE,
      // The session is loaded and the agent asked to go on: what it did last before the crash, it has to find out.
      "execution.resume": loadSession ? DEGRADED : UNSUPPORTED,
      "extension.mcp": takesMcp ? NATIVE : UNSUPPORTED,
      "extension.sandbox": UNSUPPORTED,
      "extension.skills": UNSUPPORTED,
      "extension.subagents": UNSUPPORTED,
      "input.follow_up": NATIVE,
      // The prompt is cancelled, and another one sent.
      "input.replace": EMULATED,
      "input.steer": UNSUPPORTED,
      "policy.completion": UNSUPPORTED,
      "policy.grants": UNSUPPORTED,
      "policy.plan": UNSUPPORTED,
    },
    metadata: {
      protocol: "agent-client-protocol/1",
      ...(containment === undefined ? {} : { containment: Containment[containment] }),
    },
  });
}
