import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { Clock } from "../../../src/core/clock.js";
import type { Log } from "../../../src/core/provider.js";
import type { Store } from "../../../src/core/store.js";
import { withNoise } from "../../../src/providers/acp/noise.js";
import { acpProvider } from "../../../src/providers/acp/provider.js";
import type { AcpSettings } from "../../../src/providers/acp/settings.js";
import { openMemoryStore } from "../../../src/store/memory.js";
import { type LiveRun, type LiveRuntime, openLiveRuntime, type StartOptions } from "../../support/live-runtime.js";
import { processesWith } from "../../support/processes.js";
import { SOURCE_ENV, sourceArgs } from "../../support/run-source.js";

/** What of a provider that runs the test agent is to be different. */
export interface AgentFixtureOptions extends Partial<AcpSettings> {
  /** The test agent's flags, such as `--silent=initialize`. */
  readonly flags?: readonly string[];
  /** Whether the same agent is there once more, as the provider `noisy`. */
  readonly noisy?: boolean;
  /** What the fixture sets and this test does not want set. */
  readonly unset?: readonly (keyof AcpSettings)[];
  readonly clock?: Clock;
  readonly store?: Store;
}

/** A runtime with the test agent as the provider `test`, and the folders that they use. */
export interface AgentFixture extends LiveRuntime {
  readonly root: string;
  /** Where the agent works. */
  readonly workspace: string;
  readonly logged: readonly string[];
  /** Starts an execution of the test agent; steps are its script. */
  run(steps: string | readonly unknown[], more?: StartOptions): Promise<LiveRun>;
  /** Processes that this fixture's agents, or what they started, still have. */
  alive(): Promise<string[]>;
  /** Closes the runtime and opens another one on the same store and folders. */
  reopen(options?: AgentFixtureOptions): Promise<AgentFixture>;
}

const agentFile = new URL("../../support/acp-agent.ts", import.meta.url);
const fixtures = new Set<AgentFixture>();

/** Opens a runtime with the test agent. {@link closeFixtures} closes it. */
export async function openAgent(options: AgentFixtureOptions = {}): Promise<AgentFixture> {
  return open(await realpath(await mkdtemp(join(tmpdir(), "acp-"))), options);
}

async function open(root: string, options: AgentFixtureOptions): Promise<AgentFixture> {
  const { flags = [], noisy: _, unset = [], clock, env = {}, limits, store = openMemoryStore(), ...settings } = options;
  const logged: string[] = [];
  const note = (fields: unknown, message: string): number => logged.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const all: AcpSettings = {
    id: "test",
    command: process.execPath,
    args: sourceArgs(agentFile, ...flags),
    cwd: root,
    loadSession: !flags.includes("--no-load"),
    // Found again in the environment of whatever is left of it.
    env: { ...SOURCE_ENV, ACP_FIXTURE: root, ACP_AGENT_STATE: join(root, "state"), ...env },
    // A test does not wait as long as an operator does.
    limits: { cancelMs: 300, eofMs: 300, termMs: 200, ...limits },
    ...settings,
  };
  const wanted = Object.fromEntries(
    Object.entries(all).filter(([name]) => !(unset as readonly string[]).includes(name)),
  );
  const provider = acpProvider(wanted, clock === undefined ? {} : { clock });
  const noisy = acpProvider(withNoise(wanted, "noisy"));
  const live = await openLiveRuntime({
    ...{ store, providers: options.noisy ? [provider, noisy] : [provider], dataDir: join(root, "data"), log },
  });
  const fixture: AgentFixture = {
    ...live,
    ...{ root, workspace: root, logged },
    run: (steps, more) => live.start("test", typeof steps === "string" ? steps : JSON.stringify(steps), more),
    alive: () => processesWith(`ACP_FIXTURE=${root}`),
    async reopen(again = options) {
      fixtures.delete(fixture);
      await live.close();
      return open(root, { ...again, store });
    },
  };
  fixtures.add(fixture);
  return fixture;
}

/** Closes every runtime that a test opened; fails where one left a process behind. */
export async function closeFixtures(): Promise<void> {
  for (const fixture of fixtures) {
    fixtures.delete(fixture);
    await fixture.close();
    expect(await fixture.alive()).toEqual([]);
    await rm(fixture.root, { recursive: true });
  }
}
