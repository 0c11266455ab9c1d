import { constants, type Stats } from "node:fs";
import { type FileHandle, mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import {
  type ReadTextFileRequest,
  type ReadTextFileResponse,
  RequestError,
  type WriteTextFileRequest,
} from "@agentclientprotocol/sdk";
import type { Workspace } from "./workspace.js";

/** The largest file that is read or written for an agent, in bytes. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

/**
 * A pipe that nobody reads must not keep a thread waiting: there are four for all files of the runtime. And the path
 * was resolved before, so a link at its end was put there since.
 */
const SAFELY = constants.O_NONBLOCK | constants.O_NOFOLLOW;

/** Serves `fs/read_text_file`: the whole file, or `limit` lines from `line` (from 1) on. */
export async function readTextFile(workspace: Workspace, request: ReadTextFileRequest): Promise<ReadTextFileResponse> {
  const path = await workspace.resolve(request.path);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw RequestError.resourceNotFound(request.path);
  const content = await withFile(path, constants.O_RDONLY, request.path, found, async (file, { size }) => {
    if (size > MAX_FILE_BYTES) throw RequestError.invalidParams({ size }, "the file is too large to be read at once");
    return file.readFile("utf8");
  });
  if (request.line == null && request.limit == null) return { content };
  const first = Math.max((request.line ?? 1) - 1, 0);
  const lines = content.split(/(?<=\n)/);
  return { content: lines.slice(first, request.limit == null ? undefined : first + request.limit).join("") };
}

/** Serves `fs/write_text_file`: makes the file, and the folders on the way to it, where they are missing. */
export async function writeTextFile(workspace: Workspace, request: WriteTextFileRequest): Promise<void> {
  const path = await workspace.resolve(request.path);
  if (Buffer.byteLength(request.content) > MAX_FILE_BYTES)
    throw RequestError.invalidParams(undefined, "the content is too large");
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) await mkdir(dirname(path), { recursive: true });
  await withFile(path, constants.O_WRONLY | constants.O_CREAT, request.path, found, async (file) => {
    await file.truncate();
    await file.writeFile(request.content);
  });
}

/**
 * Opens a file for `use`, and closes it. Anything but a regular file is refused with the protocol's "invalid params":
 * before it is opened, as opening is all that some devices need, and after it, as it may be another one by then.
 */
async function withFile<T>(
  path: string,
  flags: number,
  wanted: string,
  found: Stats | undefined,
  use: (file: FileHandle, stats: Stats) => Promise<T>,
): Promise<T> {
  const refused = RequestError.invalidParams({ path: wanted }, "not a file");
  if (found?.isFile() === false) throw refused;
  const file = await open(path, flags | SAFELY).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "ENXIO" || error.code === "ELOOP" ? refused : error;
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw refused;
    return await use(file, stats);
  } finally {
    await file.close();
  }
}
