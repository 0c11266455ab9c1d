// The program `harness`: reads the command line and runs the command that it names.
import { readFileSync } from "node:fs";
import { Command } from "commander";

const packageFile = new URL("../../../package.json", import.meta.url);

/** The version in the package's package.json, which is two folders above dist/src. */
function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };
  return version;
}

const program = new Command("harness")
  .description("The gRPC runtime for agent harnesses.")
  .version(packageVersion())
  .showHelpAfterError();

await program.parseAsync();
