import type { Command } from "commander";
import { collectList } from "./arguments.js";
import { action } from "./client-commands.js";
import type { ConformanceCommandOptions } from "./commands/conformance.js";
import type { CreateTokenOptions } from "./commands/token.js";
import { type ConfigOptions, withConfigOptions } from "./server-options.js";

const CONFORMANCE_KEYS = ["data", "log.level"];

/** Adds the commands that run a runtime or look after its folder. Each loads what it needs when it is run. */
export function addServerCommands(program: Command, version: string): void {
  withConfigOptions(program.command("serve").description("run a runtime until SIGTERM or Ctrl-C")).action(
    action(async (options: ConfigOptions) => (await import("./commands/serve.js")).serve(options, version)),
  );
  withConfigOptions(program.command("config").description("print the configuration in force, and where it was set"))
    .option("--json", "print one JSON object a line")
    .action(action(async (options: ConfigOptions) => (await import("./commands/config.js")).config(options)));
  withConfigOptions(
    program.command("conformance <provider>").description("check what a provider really does"),
    CONFORMANCE_KEYS,
  )
    .option("--situations <file>", "how the provider is brought to do what is checked, as YAML")
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      "\nRuns the provider by itself, as `serve` would. `providers` of a server with the same --data shows the result.",
    )
    .action(
      action(async (id: string, options: ConformanceCommandOptions) =>
        (await import("./commands/conformance.js")).conformance(id, options),
      ),
    );
  addTokenCommands(program.command("token").description("make, list and revoke the tokens of --auth tokens"));
}

function addTokenCommands(token: Command): void {
  const command = (nameAndArgs: string, description: string): Command => {
    const added = withConfigOptions(token.command(nameAndArgs).description(description), ["data"]);
    return added.option("--json", "print one JSON object a line");
  };
  command("create", "make a token and print its secret, which is shown this once")
    .requiredOption("--user <id>", "whose it is")
    .option("--tenant <id>", "the tenant that it is for", "local")
    .option(
      "--scope <scope>",
      "read, run, respond or providers:connect; may be repeated (default: the first three)",
      collectList,
    )
    .option("--expires <duration>", "when it ends, such as 24h (default: never)")
    .option("--note <text>", "what it is for")
    .action(action(async (options: CreateTokenOptions) => (await import("./commands/token.js")).createToken(options)));
  command("list", "print all tokens, without their secrets").action(
    action(async (options: ConfigOptions) => (await import("./commands/token.js")).listTokens(options)),
  );
  command("revoke <token>", "revoke a token; servers refuse it within a second").action(
    action(async (id: string, options: ConfigOptions) =>
      (await import("./commands/token.js")).revokeToken(id, options),
    ),
  );
}
