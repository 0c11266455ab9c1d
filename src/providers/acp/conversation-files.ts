import { mkdir, readdir, readFile, rm, rmdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../core/clock.js";
import type { EarlierSession } from "./agent-session.js";
import { fieldsOf, textOf } from "./json.js";

/** What is kept of a conversation that was not used for this long is removed: 30 days. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1_000;

/** What is kept of each conversation, in the provider's data folder: a folder to work in, and which session its agent had. */
export class ConversationFiles {
  private readonly workspaces: string;
  private readonly sessions: string;

  constructor(
    dataDir: string,
    private readonly clock: Clock,
  ) {
    this.workspaces = join(dataDir, "workspaces");
    this.sessions = join(dataDir, "sessions");
  }

  /** Returns the conversation's own folder, made where there is none. */
  async workspaceOf(conversationId: string): Promise<string> {
    const folder = join(this.workspaces, conversationId);
    await mkdir(folder, { recursive: true });
    return folder;
  }

  /** What is kept of the conversation's last session; `id` goes before it. */
  async readSession(conversationId: string, id: string | undefined): Promise<EarlierSession | undefined> {
    const kept = parseSession(await readFile(this.fileOf(conversationId), "utf8").catch(() => ""));
    return id === undefined || kept?.id === id ? kept : { id, createTimeMs: 0 };
  }

  async writeSession(conversationId: string, { id, createTimeMs }: EarlierSession): Promise<void> {
    await mkdir(this.sessions, { recursive: true });
    const earlier: EarlierSession = { id, createTimeMs };
    await writeFile(this.fileOf(conversationId), JSON.stringify(earlier), { mode: 0o600 });
  }

  /** Notes that the conversation is in use, which keeps what is kept of it. */
  async touch(conversationId: string): Promise<void> {
    const now = new Date(this.clock.now());
    for (const path of [this.fileOf(conversationId), join(this.workspaces, conversationId)]) {
      await utimes(path, now, now).catch(() => {});
    }
  }

  /**
   * Removes what is kept of conversations that were not used for 30 days: their
   * sessions, and their folders where these are empty. A folder with anything in
   * it stays: somebody may want that.
   */
  async prune(): Promise<void> {
    for (const name of await this.unused(this.sessions)) await rm(join(this.sessions, name), { force: true });
    // Fails where there is something in it, also since it was looked at.
    for (const name of await this.unused(this.workspaces)) await rmdir(join(this.workspaces, name)).catch(() => {});
  }

  private async unused(folder: string): Promise<string[]> {
    const sinceMs = this.clock.now() - KEPT_MS;
    const unused: string[] = [];
    for (const name of await readdir(folder).catch(() => [])) {
      const found = await stat(join(folder, name)).catch(() => undefined);
      if (found !== undefined && found.mtimeMs < sinceMs) unused.push(name);
    }
    return unused;
  }

  private fileOf(conversationId: string): string {
    return join(this.sessions, `${conversationId}.json`);
  }
}

/** Undefined where the file is not there, or was cut short by a crash. */
function parseSession(text: string): EarlierSession | undefined {
  try {
    const { id, createTimeMs } = fieldsOf(JSON.parse(text));
    return textOf(id) === undefined ? undefined : { id: String(id), createTimeMs: Number(createTimeMs) };
  } catch {
    return undefined;
  }
}
