// @ts-check
// For `node --experimental-transform-types --import`: lets the benches, which are TypeScript, run the project as it is shipped.
import { registerHooks } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildIfStale } from "../scripts/build.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = [pathToFileURL(`${root}src/`).href, pathToFileURL(`${root}gen/`).href];

// The bench's first process builds; its peers run what it built.
if (process.send === undefined) buildIfStale(root.replace(/\/$/, ""));

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!specifier.startsWith(".") || !specifier.endsWith(".js") || context.parentURL === undefined) {
      return nextResolve(specifier, context);
    }
    const url = new URL(specifier, context.parentURL).href;
    if (url.includes("/node_modules/")) return nextResolve(specifier, context);
    if (sources.some((source) => url.startsWith(source))) {
      const built = url.replace(pathToFileURL(root).href, pathToFileURL(`${root}dist/`).href);
      return { url: built, shortCircuit: true };
    }
    return nextResolve(url.includes("/dist/") ? specifier : `${specifier.slice(0, -3)}.ts`, context);
  },
});
