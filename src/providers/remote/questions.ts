import type { ActionAnswer, RequestAction } from "../../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import { isHarnessError } from "../../core/errors.js";
import { MAX_WAITING_ACTIONS } from "../../core/limits.js";
import type { ProviderContext } from "../../core/provider.js";
import { ProtocolViolationError } from "../../core/violation.js";
import { toAbandoned, toActionInit, toAnswerMessage } from "./turn-messages.js";

/** The attempt that asks. */
export interface Asker {
  readonly executionId: string;
  readonly attempt: number;
  /** Where an action is opened; undefined between a restart of the runtime and the next turn. */
  context(): ProviderContext | undefined;
  /** Sends an answer, where the instance is there. */
  answer(answer: ActionAnswer): void;
  violate(message: string): void;
}

/** The questions of one attempt: each is asked once, and answered as often as it is repeated. */
export class Questions {
  readonly #asker: Asker;
  /** By key; the answer where it is known. */
  readonly #asked = new Map<string, ActionAnswer | undefined>();
  #early: RequestAction[] = [];

  constructor(asker: Asker) {
    this.#asker = asker;
  }

  /** Opens an action, or answers again; resolves with why it is refused. */
  async ask(request: RequestAction, isRepeated: boolean): Promise<unknown> {
    const { key } = request;
    const known = this.#asked.get(key);
    if (known !== undefined && (isRepeated || !known.abandoned)) this.#asker.answer(known);
    else if (known !== undefined || !this.#asked.has(key)) return await this.#open(request);
    return undefined;
  }

  /** Returns what was repeated before a turn was there to take it. */
  takeEarly(): readonly RequestAction[] {
    const early = this.#early;
    this.#early = [];
    return early;
  }

  async #open(request: RequestAction): Promise<unknown> {
    const { executionId, attempt } = this.#asker;
    const { key } = request;
    const context = this.#asker.context();
    if (context === undefined) {
      this.#keep(request);
      return undefined;
    }
    this.#asked.set(key, undefined);
    const answered = context.requestAction(toActionInit(request)).then(
      (answer) => this.#answered(key, toAnswerMessage(answer, executionId, attempt)),
      (error: unknown) => {
        const isRefused = error instanceof ProtocolViolationError || isHarnessError(error);
        if (isRefused && this.#asked.delete(key)) return error;
        return this.#answered(key, toAbandoned(key, executionId, attempt));
      },
    );
    // What is wrong with a question is known at once; its answer may take days.
    return await Promise.race([answered, new Promise<undefined>((resolve) => setImmediate(resolve, undefined))]);
  }

  #keep(request: RequestAction): void {
    this.#early.push(request);
    if (this.#early.length > MAX_WAITING_ACTIONS) this.#asker.violate("it repeats more questions than may be open");
  }

  #answered(key: string, answer: ActionAnswer): undefined {
    this.#asked.set(key, answer);
    this.#asker.answer(answer);
  }
}
