import type { ContentBlock, CreateElicitationResponse, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import type { Clock } from "../../core/clock.js";
import type { ActionAnswer, ActionInit, ProviderContext, TurnOutcome } from "../../core/provider.js";
import { ProviderLostError } from "../../core/provider-lost.js";
import type { AgentSession, PromptListener } from "./agent-session.js";
import { toElicitationResponse, toInputAction } from "./elicitation.js";
import { Emitter } from "./emitter.js";
import { failedTurn, problemOf } from "./failure.js";
import { type Fields, fieldsOf, textOf } from "./json.js";
import { allows, choicesOf, choose, subjectOf, toAction } from "./permission.js";
import type { AgentSettings } from "./settings.js";
import { PausableLimit, settledWithin } from "./time-limit.js";
import { ToolCalls } from "./tool-calls.js";
import { nativeEvent, Updates } from "./updates.js";

/** What a turn is part of. */
export interface TurnOptions {
  readonly context: ProviderContext;
  readonly session: AgentSession;
  readonly settings: AgentSettings;
  readonly clock: Clock;
  /** How often the execution had a tool call of each ID. */
  readonly callIds: Map<string, number>;
  /** Ends the agent where it does not stop when it is asked to. */
  endAgent(): Promise<unknown>;
}

/** Why a turn is being stopped. */
type Stop = "aborted" | "limit";

/** As many questions may wait at once; the runtime takes it for a fault of the provider when there are more. */
const MOST_QUESTIONS = 60;
const CANCELLED: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

/** One prompt: shows what the agent does, asks what it asks, and stops it. */
export class Turn implements PromptListener {
  private readonly emitter: Emitter;
  private readonly calls: ToolCalls;
  private readonly updates: Updates;
  private readonly limit: PausableLimit;
  private readonly occurrences = new Map<string, number>();
  private stop: Stop | undefined;
  private stopped: () => void = () => {};
  private readonly whenStopped: Promise<undefined>;
  private refused = false;
  private asking = 0;
  private prompting: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: TurnOptions) {
    const { context, session, settings, clock } = options;
    this.emitter = new Emitter(context);
    this.calls = new ToolCalls(options.callIds, (id) => session.terminalText(id));
    this.updates = new Updates(context.turn, this.calls, clock);
    this.limit = new PausableLimit(clock, settings.limits.turnMs, () => this.interrupt("limit"));
    this.whenStopped = new Promise((resolve) => {
      this.stopped = () => resolve(undefined);
    });
  }

  /** Resolves when the agent has answered the prompt, or ended. */
  get settled(): Promise<unknown> {
    return this.prompting.catch(() => {});
  }

  /** Runs the prompt to its end. Rejects with a ProviderLostError where the agent ended, and where the runtime refuses an event. */
  async run(prompt: readonly ContentBlock[]): Promise<TurnOutcome> {
    const { context, session } = this.options;
    const abort = (): void => this.interrupt("aborted");
    context.signal.addEventListener("abort", abort, { once: true });
    try {
      const answering = context.signal.aborted ? Promise.resolve({}) : session.prompt(prompt, this);
      this.prompting = answering;
      const outcome = await answering.then(
        (answer) => this.toOutcome(answer),
        (error: unknown) => this.toFailure(error),
      );
      this.emitter.push(...this.calls.endTurn("the turn ended before the call did"));
      await this.emitter.flush();
      if (outcome instanceof ProviderLostError) throw outcome;
      return outcome;
    } finally {
      context.signal.removeEventListener("abort", abort);
      this.limit.end();
    }
  }

  update(update: Fields): void {
    this.emitter.push(...this.updates.toEvents(update));
  }

  dropped(method: string | undefined, sizeBytes: number): void {
    this.emitter.push(nativeEvent("message_dropped", { method: method ?? null, size_bytes: sizeBytes }));
  }

  ready(): Promise<void> | undefined {
    return this.emitter.ready();
  }

  async requestPermission(params: Fields): Promise<RequestPermissionResponse> {
    const call = fieldsOf(params["toolCall"]);
    this.emitter.push(...this.calls.apply(call, false));
    const choices = choicesOf(params);
    const action = toAction(params, choices, this.options.context.turn, this.count(subjectOf(params)));
    const answer = await this.ask(action);
    const choice = answer === undefined ? undefined : choose(choices, answer);
    if (!allows(choice)) {
      this.refused = true;
      if (this.stop === undefined) this.calls.deny(textOf(call["toolCallId"]) ?? "");
    }
    return choice === undefined ? CANCELLED : { outcome: { outcome: "selected", optionId: choice.id } };
  }

  async elicit(params: Fields): Promise<CreateElicitationResponse> {
    const { context, settings } = this.options;
    const action = settings.elicitation ? toInputAction(params, context.turn, this.count("elicitation")) : undefined;
    if (action === undefined) return { action: "decline" };
    const answer = await this.ask(action);
    return answer === undefined ? { action: "cancel" } : toElicitationResponse(answer);
  }

  /** Asks somebody, with the turn's time standing still. Undefined: nobody will answer. */
  private async ask(action: ActionInit): Promise<ActionAnswer | undefined> {
    const { context } = this.options;
    if (this.asking >= MOST_QUESTIONS) return undefined;
    this.asking++;
    this.limit.pause();
    try {
      await this.emitter.flush();
      const answer = await this.unlessStopped(action);
      // An earlier attempt may have acted on this answer. It is asked anew, so that somebody decides again.
      return answer?.delivered ? this.unlessStopped({ ...action, key: `${action.key}:${context.attempt}` }) : answer;
    } catch (error) {
      context.log.warn({ error: String(error) }, "a question of the agent was not asked");
      return undefined;
    } finally {
      this.asking--;
      this.limit.resume();
    }
  }

  private unlessStopped(action: ActionInit): Promise<ActionAnswer | undefined> {
    if (this.stop !== undefined) return this.whenStopped;
    return Promise.race([this.options.context.requestAction(action), this.whenStopped]);
  }

  /** How often this was asked in this turn, with this time. */
  private count(subject: string): number {
    const times = (this.occurrences.get(subject) ?? 0) + 1;
    this.occurrences.set(subject, times);
    return times;
  }

  private interrupt(why: Stop): void {
    if (this.stop !== undefined) return;
    this.stop = why;
    this.stopped();
    this.stopAgent().catch((error) => {
      this.options.context.log.warn({ error: String(error) }, "the agent was not stopped");
    });
  }

  private async stopAgent(): Promise<void> {
    const { session, settings, clock } = this.options;
    // First the open questions are answered as cancelled, then the agent is told.
    await new Promise((resolve) => setImmediate(resolve));
    if (session.isAlive) session.cancel();
    if (!(await settledWithin(this.settled, settings.limits.interruptMs, clock))) await this.options.endAgent();
  }

  private toOutcome({ stopReason }: Fields): TurnOutcome {
    if (this.stop !== undefined) return this.toStopped();
    if (stopReason === "end_turn") return { status: "succeeded" };
    if (stopReason !== "cancelled") return { status: "failed", message: this.describe(stopReason) };
    // Several agents end their turn so when a permission was refused.
    if (this.refused) return { status: "succeeded" };
    return { status: "failed", message: "the agent ended the turn as cancelled, unasked" };
  }

  private toFailure(error: unknown): TurnOutcome | ProviderLostError {
    if (this.stop !== undefined) return this.toStopped();
    if (problemOf(error) !== "agent_ended") return failedTurn(error);
    return new ProviderLostError(error instanceof Error ? error.message : String(error), { cause: error });
  }

  private toStopped(): TurnOutcome {
    if (this.stop === "aborted") return { status: "cancelled" };
    const { turnMs } = this.options.settings.limits;
    return {
      status: "failed",
      message: `the turn took longer than ${turnMs} ms and was stopped: ask for less at a time, or raise limits.turn_ms`,
    };
  }

  private describe(stopReason: unknown): string {
    switch (stopReason) {
      case "refusal":
        return "the agent refused the request (refusal)";
      case "max_tokens":
        return "the model's answer reached its longest length (max_tokens): ask for less at a time";
      case "max_turn_requests":
        return "the agent reached its most model calls in a turn (max_turn_requests): send a follow_up to go on";
      default:
        return `the agent stopped for a reason that is not known: ${JSON.stringify(stopReason ?? null)}`;
    }
  }
}
