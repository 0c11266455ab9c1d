import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** What a role does when it is told to. */
export type Commands = Readonly<Record<string, (argument: never) => unknown>>;

/** A process that plays one role, and is told what to do. */
export interface Peer<C extends Commands> {
  call<K extends keyof C & string>(command: K, ...argument: Parameters<C[K]>): Promise<Awaited<ReturnType<C[K]>>>;
  /** CPU time of all threads since the process began, in microseconds. */
  cpu(): Promise<number>;
  /** After a collection. */
  memory(): Promise<NodeJS.MemoryUsage>;
  stop(): Promise<void>;
}

interface Call {
  readonly id: number;
  readonly command: string;
  readonly argument: unknown;
}

type Reply = { readonly id: number; readonly value?: unknown; readonly error?: string };

const LOADER = new URL("./built.mjs", import.meta.url).href;

/** Starts `bench/roles/NAME.ts`; `core` pins it to one, where the system can. */
export async function startPeer<C extends Commands>(name: string, core?: number): Promise<Peer<C>> {
  const file = fileURLToPath(new URL(`./roles/${name}.ts`, import.meta.url));
  const node = [
    process.execPath,
    "--no-warnings",
    "--expose-gc",
    "--experimental-transform-types",
    "--import",
    LOADER,
    file,
  ];
  const pin = core !== undefined && existsSync("/usr/bin/taskset") ? ["/usr/bin/taskset", "-c", `${core}`] : [];
  const [command = "", ...args] = [...pin, ...node];
  const child = spawn(command, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const waiting = new Map<number, (reply: Reply) => void>();
  child.on("message", (reply: Reply) => waiting.get(reply.id)?.(reply));
  child.on("exit", (code) => {
    for (const answer of waiting.values()) answer({ id: 0, error: `${name} ended with ${code}` });
  });
  let calls = 0;
  const call = async (called: string, argument?: unknown): Promise<never> => {
    const id = calls++;
    const reply = await new Promise<Reply>((resolve) => {
      waiting.set(id, resolve);
      child.send({ id, command: called, argument } satisfies Call);
    });
    waiting.delete(id);
    if (reply.error !== undefined) throw new Error(`${name}: ${reply.error}`);
    return reply.value as never;
  };
  return {
    call: (called, ...[argument]) => call(called, argument),
    cpu: () => call("cpu"),
    memory: () => call("memory"),
    stop: () => stop(child),
  };
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
}

/** In the process of a role: does what it is told. */
export function play(commands: Commands): void {
  const all: Readonly<Record<string, (argument: never) => unknown>> = {
    ...commands,
    cpu() {
      const { user, system } = process.cpuUsage();
      return user + system;
    },
    async memory() {
      for (let round = 0; round < 3; round++) {
        globalThis.gc?.();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return process.memoryUsage();
    },
  };
  process.on("message", ({ id, command, argument }: Call) => {
    const answer = (reply: Omit<Reply, "id">): void => {
      process.send?.({ id, ...reply });
    };
    Promise.resolve()
      .then(() => all[command]?.(argument as never))
      .then(
        (value) => answer({ value }),
        (error: unknown) => answer({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
      );
  });
  process.on("disconnect", () => process.exit());
}
