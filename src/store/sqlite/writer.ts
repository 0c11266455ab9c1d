import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { Committer } from "./committer.js";
import { LostFileError, toFailure } from "./file-errors.js";
import { Keeper } from "./keeper.js";
import type { FileSettings, NumberedOutcome, Operation, WriterReply, WriterRequest } from "./messages.js";
import { type OpenFile, openFile } from "./open-file.js";
import { WriteAheadLog } from "./write-ahead-log.js";

/** What arrives while a commit runs goes into the next, up to about so many operations. */
const COMMIT_OPERATIONS = 4096;
/** A moment is quiet when no commit was made for so long. */
const QUIET_MS = 20;
/** Under a load that leaves no pause, the log and the chunks are looked after every so many commits. */
const COMMITS_PER_LOOK = 16;
/** How often it is seen to that the files are still there, in milliseconds. */
const CHECK_MS = 1000;

interface Batch {
  readonly batch: number;
  readonly operations: readonly Operation[];
}

/** The thread that makes all changes to a file, one commit after another. */
class Writer {
  readonly #port: MessagePort;
  readonly #file: OpenFile;
  readonly #committer: Committer;
  readonly #keeper: Keeper;
  readonly #log: WriteAheadLog;
  readonly #waiting: Batch[] = [];
  readonly #checks: NodeJS.Timeout;
  #quiet: NodeJS.Timeout | undefined;
  #isStepDue = false;
  #commits = 0;
  /** Whether the reader was asked to write the log back and has not answered. */
  #isCheckpointing = false;
  #isClosing = false;

  constructor(port: MessagePort, file: OpenFile, settings: FileSettings) {
    this.#port = port;
    this.#file = file;
    this.#keeper = new Keeper(file.db);
    this.#committer = new Committer(file.db, settings.file, (head) => this.#keeper.noteWritten(head));
    this.#log = new WriteAheadLog(file.db);
    this.#checks = setInterval(() => this.#orLose(() => file.checkThere()), CHECK_MS).unref();
    port.on("message", (request: WriterRequest) => this.#receive(request));
    this.#reply({ kind: "opened" });
    this.#afterWork();
  }

  #receive(request: WriterRequest): void {
    this.#orLose(() => this.#work(request));
  }

  #work(request: WriterRequest): void {
    this.#take(request);
    this.#takeWaiting();
    while (this.#waiting.length > 0) {
      this.#commit();
      if (++this.#commits % COMMITS_PER_LOOK === 0) this.#lookAfter();
      this.#takeWaiting();
    }
    if (this.#isClosing) this.#end({ kind: "closed" });
    else this.#afterWork();
  }

  /** Takes all messages that have arrived by now. */
  #takeWaiting(): void {
    for (let next = receiveMessageOnPort(this.#port); next !== undefined; next = receiveMessageOnPort(this.#port)) {
      this.#take(next.message as WriterRequest);
    }
  }

  #take(request: WriterRequest): void {
    if (request.kind === "batch") {
      this.#waiting.push(request);
      if (request.operations.some(({ kind }) => kind === "trim")) this.#keeper.noteTrimmed();
    } else if (request.kind === "checkpointed") {
      this.#isCheckpointing = false;
      this.#tidy(() => this.#log.finish());
    } else {
      this.#isClosing = true;
    }
  }

  #commit(): void {
    const group = this.#nextGroup();
    const outcomes: NumberedOutcome[] = [];
    const results = this.#committer.commit(group.flatMap(({ operations }) => operations));
    for (const [number, outcome] of results.entries()) {
      if (outcome !== undefined) outcomes.push([number, outcome]);
    }
    // A full disk may have room again once the log is written back.
    if (outcomes.some(([, { refusal }]) => refusal?.kind === "unavailable")) this.#askForCheckpoint();
    const last = group.at(-1);
    if (last !== undefined) this.#reply({ kind: "committed", batch: last.batch, outcomes });
  }

  #nextGroup(): Batch[] {
    let count = 0;
    let size = 0;
    for (const { operations } of this.#waiting) {
      if (count > 0 && size + operations.length > COMMIT_OPERATIONS) break;
      count++;
      size += operations.length;
    }
    return this.#waiting.splice(0, count);
  }

  /** Between two commits: what should not wait for a pause. */
  #lookAfter(): void {
    // Under such a load the timer may never come to it.
    this.#file.checkThere();
    this.#lookAtLog();
    if (this.#keeper.isUrgent) this.#tidy(() => this.#keeper.step());
  }

  /** In a pause: has the keeper work when it is time. */
  #afterWork(): void {
    if (this.#keeper.isUrgent) this.#stepSoon();
    else this.#waitForQuiet();
  }

  #waitForQuiet(): void {
    if (this.#quiet === undefined) this.#quiet = setTimeout(() => this.#onQuiet(), QUIET_MS);
    else this.#quiet.refresh();
  }

  #onQuiet(): void {
    this.#quiet = undefined;
    this.#lookAtLog();
    if (this.#keeper.hasWork) this.#stepSoon();
  }

  #stepSoon(): void {
    if (this.#isStepDue) return;
    this.#isStepDue = true;
    setImmediate(() => {
      this.#isStepDue = false;
      this.#step();
    });
  }

  /** One step of the keeper, unless a commit is waiting. */
  #step(): void {
    if (this.#isClosing) return;
    const next = receiveMessageOnPort(this.#port);
    if (next !== undefined) {
      this.#receive(next.message as WriterRequest);
      return;
    }
    if (this.#tidy(() => this.#keeper.step()) && this.#keeper.hasWork) this.#stepSoon();
  }

  #lookAtLog(): void {
    this.#tidy(() => {
      if (!this.#isCheckpointing && this.#log.isDue) this.#askForCheckpoint();
    });
  }

  #askForCheckpoint(): void {
    if (this.#isCheckpointing) return;
    this.#isCheckpointing = true;
    this.#reply({ kind: "checkpoint" });
  }

  /**
   * Does what may as well be done later; a failure (a full disk, say) loses
   * nothing, and whoever writes next hears of it. Returns whether it was done.
   */
  #tidy(work: () => void): boolean {
    try {
      work();
      return true;
    } catch {
      return false;
    }
  }

  /** Does `work`, and ends where that finds the file lost. */
  #orLose(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof LostFileError)) throw error;
      this.#end({ kind: "lost", failure: { code: error.code, message: error.message } });
    }
  }

  #end(last: WriterReply): void {
    this.#isClosing = true;
    clearInterval(this.#checks);
    clearTimeout(this.#quiet);
    this.#file.close();
    this.#reply(last);
    this.#port.close();
  }

  #reply(reply: WriterReply): void {
    this.#port.postMessage(reply);
  }
}

function start(): void {
  if (parentPort === null) throw new Error("not a worker thread");
  const settings = workerData as FileSettings;
  try {
    new Writer(parentPort, openFile(settings, Date.now()), settings);
  } catch (error) {
    parentPort.postMessage({ kind: "failed", failure: toFailure(settings.file, error) } satisfies WriterReply);
  }
}

start();
