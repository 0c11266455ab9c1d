import { Worker } from "node:worker_threads";
import type { FileSettings } from "./messages.js";

/** Whether this module runs from its source: then so do the threads. */
const FROM_SOURCE = import.meta.url.endsWith(".ts");

/** Lets TypeScript source find `x.ts` where it imports `x.js`. */
const FIND_SOURCE = `import { registerHooks } from "node:module";
registerHooks({
  resolve(specifier, context, next) {
    try { return next(specifier, context); }
    catch (error) {
      if (!specifier.startsWith(".") || !specifier.endsWith(".js")) throw error;
      return next(specifier.slice(0, -3) + ".ts", context);
    }
  },
});`;

/** Node's options for a thread or a process that runs this project from its source. */
export const SOURCE_OPTIONS: readonly string[] = [
  // Node before 22.18 reads TypeScript only where it is told to.
  ...(process.features.typescript ? [] : ["--experimental-strip-types"]),
  "--disable-warning=ExperimentalWarning",
  "--import",
  `data:text/javascript,${encodeURIComponent(FIND_SOURCE)}`,
];

/** Starts one of a store's two threads. Its module must not import the contract, nor anything with an enum. */
export function startThread(name: "writer" | "reader", settings: FileSettings): Worker {
  const module = new URL(`./${name}.${FROM_SOURCE ? "ts" : "js"}`, import.meta.url);
  return new Worker(module, {
    name: `sqlite-${name}`,
    workerData: settings,
    execArgv: FROM_SOURCE ? [...SOURCE_OPTIONS] : [],
  });
}
