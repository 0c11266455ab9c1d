import type { Content } from "../../../gen/ts/harnessruntime/v1/content_pb.js";
import type { Clock } from "../../core/clock.js";
import type { ProviderContext, ProviderEvent } from "../../core/provider.js";

/** Where a turn stands. */
interface Position {
  readonly turn: number;
  /** The index of the current step. */
  readonly step: number;
  /** How much of it is stored: words of a text, deltas of a flood; 1 for any other that emitted its events. */
  readonly part: number;
  /** The steers that have become text. */
  readonly steers: number;
}

/** Thrown inside a step when the turn must end and the script heeds it. */
export class TurnAborted extends Error {
  override readonly name = "TurnAborted";
}

/**
 * One turn of a script. Keeps the position after an event in the write that appends the event, so that a resumed
 * attempt goes on behind what is stored: it repeats nothing and leaves nothing out.
 */
export class Stage {
  /** Set by the step `ignore_abort`. */
  ignoresAbort = false;
  #position: Position;
  #steers: AsyncIterator<Content> | undefined;

  constructor(
    readonly context: ProviderContext,
    readonly clock: Clock,
  ) {
    this.#position = storedPosition(context) ?? { turn: context.turn, step: 0, part: 0, steers: 0 };
  }

  get step(): number {
    return this.#position.step;
  }

  get part(): number {
    return this.#position.part;
  }

  /** Goes on to the next step; stored with what that emits. */
  nextStep(): void {
    this.#position = { ...this.#position, step: this.step + 1, part: 0 };
  }

  /** Appends events as `parts` further parts of the step. */
  async emit(events: readonly ProviderEvent[], parts: number): Promise<void> {
    await this.append(() => this.context.emit(events), parts);
  }

  /** Does the same for `run`, which appends the event itself. */
  async append(run: () => Promise<void>, parts: number): Promise<void> {
    this.#position = { ...this.#position, part: this.part + parts };
    this.save();
    await run();
    this.checkAborted();
  }

  /** Has the position stored with the next append. */
  save(): void {
    this.context.saveResumeState(new TextEncoder().encode(JSON.stringify(this.#position)));
  }

  /** Resolves after `delayMs`, or when the turn must end. */
  async sleep(delayMs: number): Promise<void> {
    const { signal } = this.context;
    if (!this.ignoresAbort) this.checkAborted();
    await new Promise<void>((resolve) => {
      const stop = this.clock.after(delayMs, () => {
        signal.removeEventListener("abort", abort);
        resolve();
      });
      const abort = (): void => {
        stop();
        resolve();
      };
      if (!this.ignoresAbort) signal.addEventListener("abort", abort, { once: true });
    });
    this.checkAborted();
  }

  /** The next steer, first one whose effect an earlier attempt did not store; undefined where the turn ended first. */
  async nextSteer(): Promise<Content | undefined> {
    const steer = this.context.resume?.inputs.at(this.#position.steers)?.content ?? (await this.#handedOver());
    if (steer !== undefined) this.#position = { ...this.#position, steers: this.#position.steers + 1 };
    return steer;
  }

  async #handedOver(): Promise<Content | undefined> {
    this.#steers ??= this.context.steers()[Symbol.asyncIterator]();
    const { done, value } = await this.#steers.next();
    return done ? undefined : value;
  }

  /** Throws {@link TurnAborted} where the turn must end and the script heeds it. */
  checkAborted(): void {
    if (this.context.signal.aborted && !this.ignoresAbort) throw new TurnAborted("the turn was ended by its signal");
  }
}

/** The position that an earlier attempt stored in this turn. */
function storedPosition({ resume, turn }: ProviderContext): Position | undefined {
  if (resume?.state === undefined) return undefined;
  const position = JSON.parse(new TextDecoder().decode(resume.state)) as Position;
  return position.turn === turn ? position : undefined;
}
