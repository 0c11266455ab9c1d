import { resolve } from "node:path";
import { defineConfig } from "vite";

/** Builds the console into dist/console, or where `--outDir` says. Relative addresses: it also works below a path. */
export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  publicDir: false,
  appType: "spa",
  clearScreen: false,
  resolve: {
    alias: {
      "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js": resolve(import.meta.dirname, "no-validation.ts"),
    },
  },
  build: {
    outDir: resolve(import.meta.dirname, "../../dist/console"),
    emptyOutDir: true,
    target: "es2023",
    // Files of their own, so that the content security policy needs no exception for inline ones.
    assetsInlineLimit: 0,
    modulePreload: false,
    cssCodeSplit: false,
    reportCompressedSize: false,
  },
});
