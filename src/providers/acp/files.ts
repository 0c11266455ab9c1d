import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
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

/** Serves `fs/read_text_file`: the whole file, or `limit` lines from `line` (from 1) on. */
export async function readTextFile(workspace: Workspace, request: ReadTextFileRequest): Promise<ReadTextFileResponse> {
  const path = await workspace.resolve(request.path);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw RequestError.resourceNotFound(request.path);
  if (!found.isFile()) throw RequestError.invalidParams({ path: request.path }, "not a file");
  if (found.size > MAX_FILE_BYTES)
    throw RequestError.invalidParams({ size: found.size }, "the file is too large to be read at once");
  const content = await readFile(path, "utf8");
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
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, request.content);
}
