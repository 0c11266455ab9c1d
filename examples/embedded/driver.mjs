// @ts-check
// A driver of your own, run by `harness serve --config examples/embedded/harness.yaml`. See README.md here.

/** @type {import("harness-runtime").DriverModule} */
export default ({ greeting }) => ({
  driver: {
    id: "greeter",
    version: 1,
    capabilities: { controls: ["follow_up"], durable: false, policyCoverage: "local", controlledExecution: true },
    start: async ({ input }, services) => {
      const call = { id: "post", name: "post", arguments: { text: `${greeting}, ${input}!` } };
      const { result, error } = await services.dispatch(call);
      return { text: result === undefined ? `Not posted: ${error}.` : String(result) };
    },
  },
  tools: [
    {
      name: "post",
      description: "Posts a text.",
      parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      effect: "external",
      requiresApproval: true,
      execute: ({ text }) => `Posted: ${text}`,
    },
  ],
  grants: { toolIds: ["post"], modelRoles: [] },
});
