import type { Command } from "commander";
import { collectLabel, collectList } from "./arguments.js";
import type { ClientOptions } from "./client-options.js";
import { withClientOptions } from "./client-options.js";
import type { ListOptions, WaitOptions, WatchOptions } from "./commands/executions.js";
import type { ActionsOptions } from "./commands/listings.js";
import type { RunOptions } from "./commands/run.js";
import type { CancelOptions, RespondOptions, SendOptions } from "./commands/steer.js";

/** Makes a command's action of what runs it and resolves with the number to end with. */
export function action<A extends readonly unknown[]>(run: (...args: A) => Promise<number>) {
  return async (...args: A): Promise<void> => {
    process.exitCode = await run(...args);
  };
}

/** Adds the commands that talk to a runtime. Each loads what it needs when it is run. */
export function addClientCommands(program: Command): void {
  const command = (nameAndArgs: string, description: string): Command => {
    return withClientOptions(program.command(nameAndArgs).description(description));
  };
  addStartingCommands(command);
  addSteeringCommands(command);
  addReadingCommands(command);
}

type NewCommand = (nameAndArgs: string, description: string) => Command;

function addStartingCommands(command: NewCommand): void {
  command("run <provider> <input>", "start an execution and follow it; the input - is read from standard input")
    .option("--config <json>", "the execution's config: JSON, or @FILE")
    .option("--conversation <id>", "the conversation it belongs to (default: a new one)")
    .option("--detach", "print the execution's ID and leave it running")
    .option("--idempotency-key <key>", "with the same key and request, the same execution")
    .option("--label <key=value>", "a label; may be repeated", collectLabel)
    .option("--require <capability>", "a capability that the provider must have; may be repeated", collectList)
    .option("--timeout <duration>", "fail when it takes longer, such as 10m")
    .addHelpText(
      "after",
      "\nEnds with 0 SUCCEEDED, 1 FAILED, 3 CANCELLED. Ctrl-C cancels, a second one leaves it running.",
    )
    .action(
      action(async (provider: string, input: string, options: RunOptions) => {
        return (await import("./commands/run.js")).run(provider, input, options);
      }),
    );
  command("wait <execution>", "wait until an execution is over and print its output")
    .option("--timeout <duration>", "give up after this long, such as 10m (default: never)")
    .addHelpText("after", "\nEnds with 0 SUCCEEDED, 1 FAILED, 3 CANCELLED.")
    .action(
      action(async (execution: string, options: WaitOptions) => {
        return (await import("./commands/executions.js")).wait(execution, options);
      }),
    );
}

function addSteeringCommands(command: NewCommand): void {
  command("send <execution> <input>", "send an input to a running execution; - is read from standard input")
    .option("--mode <mode>", "follow_up, steer or replace", "follow_up")
    .option("--idempotency-key <key>", "with the same key and input, the same input")
    .action(
      action(async (execution: string, input: string, options: SendOptions) => {
        return (await import("./commands/steer.js")).send(execution, input, options);
      }),
    );
  command("respond <execution> [action]", "answer an action; the only open one where none is named")
    .option("--approve", "allow it")
    .option("--deny", "refuse it")
    .option("--option <id>", "choose one of its options; with --approve or --deny where it does not say which it is")
    .option("--text <text>", "the value of an input, as text")
    .option("--value <json>", "the value of an input: JSON, or @FILE")
    .action(
      action(async (execution: string, id: string | undefined, options: RespondOptions) => {
        return (await import("./commands/steer.js")).respond(execution, id, options);
      }),
    );
  command("cancel <execution>", "ask for an execution to be cancelled")
    .option("--reason <text>", "why, for its events", "cancelled at the command line")
    .option("--wait", "return when it is over")
    .action(
      action(async (execution: string, options: CancelOptions) => {
        return (await import("./commands/steer.js")).cancel(execution, options);
      }),
    );
}

function addReadingCommands(command: NewCommand): void {
  command("watch <execution>", "print an execution's events as they come, to its end")
    .option("--after <sequence>", "only events after this one", "0")
    .option("--types <types>", "only these, such as run.*,tool.call.*; may be repeated", collectList)
    .action(
      action(async (execution: string, options: WatchOptions) => {
        return (await import("./commands/executions.js")).watch(execution, options);
      }),
    );
  command("get <execution>", "print an execution").action(
    action(async (execution: string, options: ClientOptions) => {
      return (await import("./commands/executions.js")).get(execution, options);
    }),
  );
  command("list", "print executions, newest first")
    .option("--state <states>", "only in these states, such as running,awaiting_approval; may be repeated", collectList)
    .option("--provider <id>", "only of this provider")
    .option("--conversation <id>", "only of this conversation")
    .option("--label <key=value>", "only with this label; may be repeated", collectLabel)
    .option("--limit <number>", "the most to print", "20")
    .action(action(async (options: ListOptions) => (await import("./commands/executions.js")).list(options)));
  command("actions", "print the actions that wait for an answer")
    .option("--execution <id>", "only of this execution")
    .option("--provider <id>", "only of this provider")
    .option("--state <states>", "in these states instead, such as responded; may be repeated", collectList)
    .action(action(async (options: ActionsOptions) => (await import("./commands/listings.js")).actions(options)));
  command("providers [provider]", "print the providers, or one and what it can do").action(
    action(async (provider: string | undefined, options: ClientOptions) => {
      return (await import("./commands/listings.js")).providers(provider, options);
    }),
  );
}
