// @ts-check
// For `node --experimental-transform-types --import`: lets a process run the sources, whose imports name the .js that is built of them.
import { registerHooks } from "node:module";

registerHooks({
  resolve(specifier, context, nextResolve) {
    const source = specifier.startsWith(".") && specifier.endsWith(".js") ? `${specifier.slice(0, -3)}.ts` : specifier;
    try {
      return nextResolve(source, context);
    } catch {
      return nextResolve(specifier, context);
    }
  },
});
