import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import {
  ConformanceResultSchema,
  type Provider as ProviderEntry,
  SupportLevel,
  Topology,
} from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { openRuntime } from "../../core/open-runtime.js";
import type { Provider } from "../../core/provider.js";
import { checkSchema } from "../../core/schema.js";
import {
  PLAIN_SITUATIONS,
  SCRIPTED_SITUATIONS,
  SITUATIONS_SCHEMA,
  type Situations,
} from "../../providers/conformance/situation.js";
import { type Checked, type ConformanceOptions, runProviderConformance } from "../../providers/conformance.js";
import { killStarted, listCarrying, startedMarks } from "../../providers/containment/started.js";
import { openMemoryStore } from "../../store/memory.js";
import { CliError, EXIT } from "../cli-error.js";
import type { ReadConfig } from "../config/read-config.js";
import { mustHave } from "../config/sections.js";
import { readYamlFile } from "../config/yaml-file.js";
import { writeConformance } from "../serve/conformance-folder.js";
import { createLog } from "../serve/log.js";
import { openNoisyProvider, openProviders } from "../serve/open-providers.js";
import { type ConfigOptions, configOf } from "../server-options.js";
import { printJson } from "../terminal/print.js";
import { printable } from "../terminal/printable.js";
import { paint } from "../terminal/style.js";
import { table } from "../terminal/table.js";

export interface ConformanceCommandOptions extends ConfigOptions {
  readonly situations?: string;
  readonly json?: true;
}

/** Runs the provider contract's checks against a provider of the configuration; resolves with the number to end with. */
export async function conformance(providerId: string, options: ConformanceCommandOptions): Promise<number> {
  const read = await configOf(options);
  const provider = await findProvider(read, providerId);
  const situations = readSituations(providerId, options.situations);
  const dataDir = await mkdtemp(join(tmpdir(), "harness-conformance-"));
  // Of one that is not available the noisy one would only complain.
  const noisy =
    provider.availability?.().available === false ? undefined : await openNoisyProvider(read, providerId, NOISY_ID);
  const store = openMemoryStore();
  const providers = noisy === undefined ? [provider] : [provider, noisy];
  const runtime = await openRuntime({ store, providers, dataDir, log: createLog(mustHave(read.config.log)) });
  try {
    mustBeAvailable(runtime.getProvider(providerId));
    const { checks, result } = await runProviderConformance(runtime, providerId, {
      situations,
      ...(options.json ? {} : { onCheck: printCheck }),
      ...(noisy === undefined ? {} : { noisyProviderId: NOISY_ID }),
      ...faultsOf(provider),
    });
    writeConformance(read.config.data, providerId, result);
    if (options.json) printJson(ConformanceResultSchema, result);
    else printSummary(checks, result.measuredLevels, provider);
    return result.failed === 0 ? EXIT.ok : EXIT.failed;
  } finally {
    await runtime.close(0);
    await store.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** The checks of a provider that takes no executions would measure nothing and fail. */
function mustBeAvailable({ available, unavailableReason }: ProviderEntry): void {
  if (!available) throw new CliError(`PROVIDER_UNAVAILABLE: ${unavailableReason}; nothing was measured`);
}

const NOISY_ID = "conformance-noisy";

async function findProvider(read: ReadConfig, providerId: string): Promise<Provider> {
  const providers = await openProviders(read);
  const found = providers.find(({ manifest }) => manifest.id === providerId);
  if (found !== undefined) return found;
  const known = providers.map(({ manifest }) => manifest.id).join(", ");
  throw new CliError(`the configuration has no provider ${providerId}; it has ${known}`, EXIT.usage);
}

function readSituations(providerId: string, file: string | undefined): Situations {
  const given = providerId === "scripted" ? SCRIPTED_SITUATIONS : PLAIN_SITUATIONS;
  if (file === undefined) return given;
  const json = readYamlFile(file).json as JsonObject;
  checkSchema(SITUATIONS_SCHEMA, json, "situations");
  const { input_value, ...rest } = json;
  return { ...given, ...rest, ...(input_value === undefined ? {} : { inputValue: input_value }) } as Situations;
}

function faultsOf({ manifest }: Provider): Pick<ConformanceOptions, "kill" | "processes"> {
  if (!manifest.topologies.includes(Topology.SUBPROCESS)) return {};
  return { kill: killStarted, processes: { marks: startedMarks, carrying: listCarrying } };
}

const SIGNS = { passed: paint("green", "✓"), failed: paint("red", "✗"), skipped: paint("dim", "–") } as const;

function printCheck({ title, outcome, detail, durationMs }: Checked): void {
  const time = outcome === "skipped" ? "" : paint("dim", ` ${durationMs} ms`);
  process.stdout.write(`${SIGNS[outcome]} ${title}${time}\n${detail === "" ? "" : `  ${printable(detail)}\n`}`);
}

function printSummary(
  checks: readonly Checked[],
  measured: Readonly<Record<string, SupportLevel>>,
  { manifest }: Provider,
): void {
  const count = (outcome: Checked["outcome"]) => checks.filter((checked) => checked.outcome === outcome).length;
  const rows = Object.entries(measured)
    .sort()
    .map(([name, level]) => {
      const declared = manifest.capabilities[name] ?? SupportLevel.UNSUPPORTED;
      return [
        name,
        SupportLevel[declared],
        level === declared ? SupportLevel[level] : paint("red", SupportLevel[level]),
      ];
    });
  process.stdout.write(`\n${table(["CAPABILITY", "DECLARED", "MEASURED"], rows)}`);
  process.stdout.write(`\n${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped\n`);
}
