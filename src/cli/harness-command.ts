import { Command } from "commander";
import { usageError } from "./cli-error.js";

/** A command that says in one line what is wrong with how it was called, and in a second one how to call it. */
export class HarnessCommand extends Command {
  /** Its subcommands do the same. */
  override createCommand(name?: string): HarnessCommand {
    return new HarnessCommand(name);
  }

  override error(message: string): never {
    const words = namesOf(this).join(" ");
    const fault = message.replace(/^error: /, "").replace(/\n\(Did you mean (.*)\)$/, "; did you mean $1");
    throw usageError(fault, `usage: npx ${words} ${this.usage()}; see: npx ${words} --help`);
  }
}

/** The words that call a command, from the program's name on. */
function namesOf(command: Command): readonly string[] {
  return [...(command.parent === null ? [] : namesOf(command.parent)), command.name()];
}
