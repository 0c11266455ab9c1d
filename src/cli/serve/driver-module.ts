import { existsSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Driver } from "../../../gen/ts/harnessruntime/config/v1/providers_pb.js";
import type { Provider } from "../../core/provider.js";
import { DRIVER_MODULE_KEYS } from "../../engine/config-keys.js";
import type { ExecutionDriver } from "../../engine/driver.js";
import { driverProvider, type ServedDriver } from "../../engine/driver-provider.js";
import { refuseUnknownKeys } from "../../engine/known-keys.js";

/**
 * Loads the module of a driver, a path from `folder`, and makes the provider `id`
 * of what it exports. Throws, in one line, where there is no such module, it
 * fails, or it exports something else.
 */
export async function openDriverModule(
  id: string,
  { module, config = {} }: Pick<Driver, "module" | "config">,
  folder: string,
): Promise<Provider> {
  const file = resolve(folder, module);
  try {
    const served = toServed(await madeBy(await load(file), config, file));
    const { driver, close: _, ...options } = served;
    return { ...driverProvider(driver, { ...options, providerId: id }), close: async () => await served.close?.() };
  } catch (error) {
    throw new Error(`module ${module}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

async function load(file: string): Promise<unknown> {
  if (!existsSync(file)) throw new Error(`there is no such file: ${file}`);
  const exported = await telling("cannot be loaded", file, () => import(pathToFileURL(file).href));
  if ("default" in exported) return exported.default;
  throw new Error("has no default export; export default a driver, or a function that returns one");
}

async function madeBy(exported: unknown, config: JsonObject, file: string): Promise<unknown> {
  if (typeof exported === "function") return await telling("failed", file, async () => await exported(config));
  if (Object.keys(config).length === 0) return exported;
  throw new Error("takes no config; export default a function of it that returns the driver, or leave config out");
}

/** Runs somebody else's code; what it throws is told with where to look. */
async function telling<T>(what: string, file: string, run: () => Promise<T>): Promise<T> {
  const idle = Promise.withResolvers<never>();
  const stopWaiting = (): void => idle.reject(new Error("it never settles: nothing that it waits for is going on"));
  // Else the process would end here, without a word of this module.
  process.once("beforeExit", stopWaiting);
  try {
    return await Promise.race([run(), idle.promise]);
  } catch (error) {
    const place = placeOf(error, file);
    const why = `${error instanceof Error ? error.message : error}${mendOf(error, file)}`;
    throw new Error(`${what}: ${why}${place === undefined ? "" : ` (${place})`}`, { cause: error });
  } finally {
    process.off("beforeExit", stopWaiting);
  }
}

/** A module elsewhere than in the package does not find it by its name before it is installed there. */
function mendOf(error: unknown, file: string): string {
  if (!(error instanceof Error && error.message.startsWith("Cannot find package 'harness-runtime'"))) return "";
  const root = dirname(findPackageJSON(import.meta.url) ?? "CLONE/package.json");
  return `; run npm install ${root} in ${dirname(file)}`;
}

/** The line that threw, in another file than this one; Node keeps that of a syntax error to itself. */
function placeOf(error: unknown, file: string): string | undefined {
  const places = (error instanceof Error ? error.stack : "")?.match(/file:[^\s)]+?:\d+/g) ?? [];
  const place = places.find((one) => !one.startsWith(import.meta.url));
  if (place !== undefined || !(error instanceof SyntaxError)) return place;
  return `node --check ${file} shows where`;
}

/** Throws where what a module gave is neither a driver nor one with how it is served. */
function toServed(given: unknown): ServedDriver {
  if (!isObject(given)) throw new Error(`gives no driver but ${given === null ? "null" : typeof given}`);
  const served = "driver" in given ? given : { driver: given, grants: NOTHING };
  if (!isDriver(served["driver"])) {
    throw new Error("gives no driver: a driver has id, version, capabilities with a list of controls, and start");
  }
  refuseUnknownKeys("", served, DRIVER_MODULE_KEYS);
  return served as unknown as ServedDriver;
}

const NOTHING = { toolIds: [], modelRoles: [] };

function isDriver(value: unknown): value is ExecutionDriver {
  if (!isObject(value) || typeof value["start"] !== "function") return false;
  return isObject(value["capabilities"]) && Array.isArray(value["capabilities"]["controls"]);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
