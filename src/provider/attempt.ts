import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import type { Outcome } from "../../gen/ts/harnessruntime/provider/v1/outcome_pb.js";
import {
  type ActionAnswer as AnswerMessage,
  type Cancel,
  CancelledSchema,
  FinishSchema,
  type Input,
  type Run,
} from "../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import type { CleanupReport, HistoryItem, Log } from "../core/provider.js";
import { TurnAbortedError } from "../core/turn-aborted.js";
import { Answers } from "./answers.js";
import type { RemoteProvider } from "./define-provider.js";
import { toHistory, toResumeInfo } from "./messages.js";
import { Outbox } from "./outbox.js";
import { toFailure, toOutcome } from "./outcome.js";
import { RemoteTurn, type TurnOwner } from "./turn.js";

/** What an attempt needs of the connection that it comes over. */
export interface AttemptHost {
  readonly provider: RemoteProvider;
  readonly log: Log;
  /** There is something to send. */
  wake(): void;
  /** The attempt is over. */
  ended(attempt: Attempt): void;
}

/** One attempt of one execution, over all its turns, as its provider runs it. */
export class Attempt implements TurnOwner {
  readonly executionId: string;
  readonly attempt: number;
  readonly outbox = new Outbox();
  readonly answers: Answers;
  readonly #host: AttemptHost;
  readonly #history: readonly HistoryItem[];
  readonly #seenInputs = new Set<string>();
  #turn: RemoteTurn | undefined;
  #running: Promise<void> = Promise.resolve();
  #resumeState: Uint8Array | undefined;
  #violation: string | undefined;
  #scratch: Promise<string> | undefined;
  /** Where it stands: a turn runs, or its end was sent; `cancelling` once it was asked to stop. */
  #phase: "running" | "finished" | "cancelling" | "over" = "finished";

  constructor(host: AttemptHost, run: Run) {
    this.#host = host;
    this.executionId = run.execution?.id ?? "";
    this.attempt = run.attempt;
    this.#history = run.history.map(toHistory);
    this.answers = new Answers(toResumeInfo(run)?.answers ?? []);
  }

  get provider(): RemoteProvider {
    return this.#host.provider;
  }
  get log(): Log {
    return this.#host.log;
  }
  get history(): readonly HistoryItem[] {
    return this.#history;
  }

  /** Begins a turn; one that began before is ignored. */
  run(run: Run): void {
    if (this.#phase !== "finished" || run.turn <= (this.#turn?.turn ?? 0)) return;
    const isFirst = this.#turn === undefined;
    this.#turn = new RemoteTurn(this, run);
    this.#phase = "running";
    this.#running = this.#runTurn(this.#turn, isFirst);
  }

  input(input: Input): void {
    const turn = this.#turn;
    if (turn?.turn !== input.turn) return;
    if (input.mode === InputMode.REPLACE) {
      turn.abort(new TurnAbortedError("replaced", "the turn was replaced by a new input"));
    } else if (input.input !== undefined && !this.#seenInputs.has(input.inputId)) {
      this.#seenInputs.add(input.inputId);
      turn.steer(Object.assign(input.input, { inputId: input.inputId }));
    }
  }

  answer(answer: AnswerMessage): void {
    this.outbox.answered(answer.key);
    this.answers.settle(answer);
  }

  /** Ends its work, then confirms it. The second time nothing happens. */
  cancel({ reason }: Cancel): void {
    if (this.#phase === "cancelling" || this.#phase === "over") return;
    this.#phase = "cancelling";
    void this.#cancel(reason);
  }

  /** Everything up to `emitId` is stored; where that was the end of the last turn, the execution is over. */
  ack(emitId: number, refusal: Error | undefined): void {
    this.outbox.ack(emitId, refusal);
    const sentItsEnd = this.#phase === "finished" || this.#phase === "cancelling";
    const hasReturned = this.#turn?.isOver ?? true;
    if (sentItsEnd && hasReturned && this.outbox.isEmpty && emitId === this.outbox.lastEmitId) this.drop();
  }

  /** Ends it without another word: it is over, or no longer this instance's. */
  drop(error = new TurnAbortedError("over", "the execution is over")): void {
    if (this.#phase === "over") return;
    this.#phase = "over";
    this.outbox.close(error);
    this.answers.close(error);
    this.#turn?.abort(error);
    this.#host.ended(this);
    void this.#dispose();
  }

  /** The turn must end: nobody waits for its answers any more. */
  abandonQuestions(error: Error): void {
    for (const key of this.answers.rejectAll(error)) this.outbox.answered(key);
  }

  saveResumeState(state: Uint8Array): void {
    this.#resumeState = Uint8Array.from(state);
  }

  takeResumeState(): Uint8Array | undefined {
    const state = this.#resumeState;
    this.#resumeState = undefined;
    return state;
  }

  /** The provider broke the contract: the execution fails, whatever it makes of the error. */
  violate(message: string): void {
    if (this.#violation === undefined) this.warn(`the provider broke the contract: ${message}`);
    this.#violation ??= message;
    this.#turn?.abort(new TurnAbortedError("failed", message));
  }

  /** Says what the provider's author has to know. */
  warn(message: string): void {
    const { executionId } = this;
    this.log.warn({ executionId }, `execution ${executionId}: ${message}`);
  }

  wake(): void {
    this.#host.wake();
  }

  scratchDir(): Promise<string> {
    this.#scratch ??= mkdtemp(join(tmpdir(), "harness-provider-"));
    return this.#scratch;
  }

  async #runTurn(turn: RemoteTurn, isFirst: boolean): Promise<void> {
    const outcome = await this.#callProvider(turn, isFirst);
    turn.end();
    if (this.#phase !== "running") return;
    this.#phase = "finished";
    const { executionId, attempt } = this;
    void this.outbox.add((emitId) => ({
      case: "finish",
      value: create(FinishSchema, { executionId, attempt, emitId, turn: turn.turn, outcome }),
    }));
    this.wake();
  }

  async #callProvider(turn: RemoteTurn, isFirst: boolean): Promise<Outcome> {
    const { provider } = this;
    let outcome: Outcome;
    try {
      if (isFirst) await provider.start?.(turn);
      outcome = toOutcome(await provider.run(turn));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      outcome = toFailure(message || "the provider threw an error without a message");
      if (!turn.signal.aborted) this.warn(`the provider failed: ${message}`);
    }
    if (this.#violation === undefined) return outcome;
    return toFailure(this.#violation, FailureReason.PROVIDER_PROTOCOL_VIOLATION);
  }

  async #cancel(reason: string): Promise<void> {
    const turn = this.#turn;
    turn?.abort(new TurnAbortedError("cancelled", reason || "the execution was cancelled"));
    let report: CleanupReport | undefined;
    let cleanupError = "";
    try {
      if (turn !== undefined) report = await this.provider.cancel?.(turn, reason, "cancelled");
    } catch (error) {
      cleanupError = error instanceof Error ? error.message : String(error);
    }
    await this.#running;
    const { executionId, attempt } = this;
    void this.outbox.add((emitId) => ({
      case: "cancelled",
      value: create(CancelledSchema, {
        executionId,
        attempt,
        emitId,
        cleanupError: [cleanupError, report?.error ?? ""].filter((text) => text !== "").join("; "),
        ...(report?.containment === undefined ? {} : { containment: report.containment }),
      }),
    }));
    this.wake();
  }

  async #dispose(): Promise<void> {
    await this.#running;
    try {
      if (this.#turn !== undefined) await this.provider.dispose?.(this.#turn);
      if (this.#scratch !== undefined) await rm(await this.#scratch, { recursive: true, force: true });
    } catch (error) {
      this.log.warn({ executionId: this.executionId, error }, "the provider did not dispose of an execution");
    }
  }
}
