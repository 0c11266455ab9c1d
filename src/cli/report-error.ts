import { CliError, EXIT } from "./cli-error.js";
import { printable } from "./terminal/printable.js";

/** Writes an error as one line to standard error, its hint as another, and returns the number to end with. */
export async function reportError(error: unknown): Promise<number> {
  const message = await lineOf(error);
  process.stderr.write(`harness: ${printable(message).replace(/\s*\n\s*/g, " ")}\n`);
  if (!(error instanceof CliError)) return EXIT.failed;
  if (error.hint !== undefined) process.stderr.write(`${error.hint}\n`);
  return error.exitCode;
}

async function lineOf(error: unknown): Promise<string> {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "HarnessRpcError") return (await import("./rpc-error-line.js")).rpcErrorLine(error);
  const isOurs = ["CliError", "ConfigError", "HarnessError", "ContiguityError"].includes(error.name);
  if (isOurs || "code" in error) return error.message;
  return `${error.message} (a fault of this program: ${error.stack?.split("\n")[1]?.trim() ?? "no trace"})`;
}
