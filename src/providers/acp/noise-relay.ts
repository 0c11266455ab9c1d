import { spawn } from "node:child_process";

/**
 * A program that runs another one and passes its standard streams on, but puts
 * into its output what an agent should not write: text before the first
 * message, and after it a line of 10 MiB. Started as `noise-relay COMMAND ARGS`.
 */
const [command = "", ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const write = (bytes: Uint8Array | string): Promise<void> =>
  new Promise((resolve) => {
    process.stdout.write(bytes, () => resolve());
  });

process.stdin.pipe(child.stdin);
child.stdin.on("error", () => {});
child.once("error", () => process.exit(127));
const ended = new Promise<number>((resolve) => {
  child.once("exit", (code) => resolve(code ?? 1));
});
await write("starting up ...\n{ not json\n");
let isFirst = true;
for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
  const end = isFirst ? chunk.indexOf("\n") + 1 : 0;
  await write(chunk.subarray(0, end));
  if (end > 0) {
    isFirst = false;
    await write(`${"x".repeat(10 * 1024 * 1024)}\n`);
  }
  await write(chunk.subarray(end));
}
process.exitCode = await ended;
