// @ts-check
// usage: node --experimental-transform-types --import ./scripts/source.mjs FILE.ts      runs TypeScript from its source
import { registerHooks } from "node:module";

/** Finds `x.ts` where `x.js` is imported and is not there. */
registerHooks({
  resolve(specifier, context, next) {
    try {
      return next(specifier, context);
    } catch (error) {
      if (!specifier.startsWith(".") || !specifier.endsWith(".js")) throw error;
      return next(`${specifier.slice(0, -3)}.ts`, context);
    }
  },
});
