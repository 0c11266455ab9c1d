// A program written against the published declarations alone. It compiles against them and runs on the package.
import type * as Seed from "./testdata/seed.js";

/** The package, as a program sees it that knows nothing but the declarations. */
export type Published = Pick<typeof Seed, "HarnessRuntime">;

export const echo: Seed.ExecutionDriver = {
  id: "echo",
  version: 1,
  capabilities: {
    controls: ["follow_up", "steer"],
    durable: false,
    policyCoverage: "local",
    controlledExecution: true,
  },
  start: async (request, services) => {
    const steer = services.takeInput();
    const text = typeof request.input === "string" ? request.input : "parts";
    services.emit({ type: "output.text.delta", text });
    services.append([
      { role: "user", content: request.input },
      { role: "assistant", content: text },
    ]);
    const id = services.putArtifact({ text, steer: steer?.mode });
    const output: Seed.HarnessDriverOutput = { text, artifacts: [{ id, mimeType: "application/json" }] };
    return output;
  },
};

/** Runs the echo driver to its end through everything that a handle offers. */
export async function main({ HarnessRuntime }: Published): Promise<readonly string[]> {
  const grants: Seed.HarnessGrants = { toolIds: [], modelRoles: [] };
  const config: Seed.HarnessRuntimeConfig = { driver: echo, grants, budgets: { maxModelCalls: 1 } };
  const runtime = new HarnessRuntime(config);
  const options: Seed.HarnessStartOptions = {
    identity: { tenantId: "acme", userId: "ada" },
    sessionId: "s1",
    runMode: "execute",
  };
  const handle: Seed.RunHandle = runtime.start("hello", options);
  const types: string[] = [];
  for await (const event of handle.events({ after: 0 })) types.push(event.payload.type);
  const result = await handle.result();
  const artifact = runtime.getArtifact(options.identity, "s1", result.artifacts?.[0]?.id ?? "");
  return [...types, result.status, result.text, JSON.stringify(artifact)];
}
