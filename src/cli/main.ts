// The program `harness`: reads the command line and runs the command that it names.
import { readFileSync } from "node:fs";
import { CommanderError } from "commander";
import { EXIT } from "./cli-error.js";
import { addClientCommands } from "./client-commands.js";
import { HarnessCommand } from "./harness-command.js";
import { reportError } from "./report-error.js";
import { addServerCommands } from "./server-commands.js";

const packageFile = new URL("../../../package.json", import.meta.url);

/** The version in the package's package.json, which is two folders above dist/src. */
function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };
  return version;
}

const program = new HarnessCommand("harness")
  .description("The gRPC runtime for agent harnesses.")
  .version(packageVersion())
  .exitOverride();
addServerCommands(program, packageVersion());
addClientCommands(program);

// A reader that has enough, such as `head`, closes the pipe: that is no fault.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(EXIT.ok);
});
process.stderr.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  // Help and the version, which are written already.
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  else process.exitCode = await reportError(error);
}
