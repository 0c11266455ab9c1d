import type { JsonObject } from "@bufbuild/protobuf";

/** What holds where nothing else is said, as a configuration file would have it. The contract's comments repeat it. */
export const DEFAULTS: JsonObject = {
  data: ".harness",
  server: {
    host: "127.0.0.1",
    port: 4310,
    allow_insecure: false,
    allowed_hosts: [],
    allowed_origins: [],
    drain_grace: "30s",
  },
  auth: { mode: "off" },
  store: { kind: "sqlite", synchronous: "full", retention: [] },
  runtime: { record_action_values: false, heartbeat_interval: "10s", max_open_executions: 10_000 },
  providers: {
    scripted: { enabled: true, continuity: false, capacity: 1_000 },
    acp_presets: true,
    remote: { enabled: true, grace: "30s" },
  },
  log: { level: "info" },
};
