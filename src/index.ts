/** `harness-runtime`: the embedded runtime. Clients, providers and servers are the entries beside it. */
// biome-ignore lint/performance/noReExportAll: the package's root and its engine entry are the same on purpose.
export * from "./engine.js";
