import type { ProviderContext } from "../core/provider.js";
import { addUsage } from "./budgets.js";
import type { DriverResume, HarnessRunRequest } from "./driver.js";
import { checkOutput } from "./driver-output.js";
import type { EngineRun } from "./engine-run.js";
import { type ChatMessage, type MessageContent, NO_USAGE } from "./message.js";
import type { HarnessDriverOutput } from "./result.js";
import { pumpSteers } from "./steers.js";
import { TurnScope } from "./turn-scope.js";
import { createServices } from "./turn-services.js";

/** What a turn's last call of the driver left. */
export interface DriverEnd {
  readonly turn: TurnScope;
  readonly output: HarnessDriverOutput;
}

/**
 * Calls a turn's driver, and again with each steer that it was handed and left:
 * what was consumed is heard. Steers that come after its last return stay
 * unconsumed. Of the outputs the last counts, with the artifacts and the usage of all.
 * `onBegin` gets the scope of each call.
 */
export async function callDriver(
  run: EngineRun,
  context: ProviderContext,
  input: MessageContent,
  onBegin: (turn: TurnScope) => void,
): Promise<DriverEnd> {
  let turn = begin(run, context, input, 1);
  onBegin(turn);
  let output = await callOnce(turn);
  while (run.failure === undefined && (output.status ?? "completed") === "completed") {
    const steer = run.steers.shift();
    if (steer === undefined) break;
    turn.end();
    turn = begin(run, context, steer, turn.entry + 1);
    onBegin(turn);
    output = together(output, await callOnce(turn));
  }
  return { turn, output };
}

function begin(run: EngineRun, context: ProviderContext, input: MessageContent, entry: number): TurnScope {
  const turn = new TurnScope(run, context, input, { revision: context.revision ?? 0, entry });
  turn.services = createServices(turn);
  return turn;
}

async function callOnce(turn: TurnScope): Promise<HarnessDriverOutput> {
  const { run, emitter } = turn;
  const before = run.history.length;
  const stopSteers = pumpSteers(turn);
  try {
    const output = checkOutput(await run.work.track(enter(turn)));
    await run.work.settleOwned();
    await emitter.flush();
    turn.signal.throwIfAborted();
    if (output.text !== "" && !emitter.hasText) {
      emitter.push({ case: "outputTextDelta", value: { text: output.text, itemId: "" } });
      await emitter.flush();
    }
    if (run.failure === undefined) keepHistory(turn, output, before);
    return output;
  } finally {
    await stopSteers();
  }
}

function enter(turn: TurnScope): Promise<HarnessDriverOutput> {
  const { driver } = turn.run.config;
  const { resume } = turn.context;
  const request = toRequest(turn);
  // What a crash cut off may have been the turn before this one, which is over.
  const wasBegun = resume?.turn === turn.context.turn && turn.entry === 1;
  if (resume === undefined || !wasBegun || driver.resume === undefined) return driver.start(request, turn.services);
  const resumed: DriverResume = {
    ...(resume.state === undefined ? {} : { state: resume.state }),
    uncertainAnswers: resume.answers
      .filter(({ delivered }) => delivered)
      .map(({ key, approved }) => ({ key, approved })),
  };
  return driver.resume(request, turn.services, resumed);
}

function toRequest({ run: { id }, context, input, entry }: TurnScope): HarnessRunRequest {
  return {
    input,
    identity: { ...id.identity },
    sessionId: id.sessionId,
    runId: id.runId,
    attemptId: id.attemptId,
    rootRunId: id.rootRunId,
    turn: context.turn,
    entry,
    signal: context.signal,
    grants: id.grants,
    runMode: id.runMode,
    ...(id.parentRunId === undefined ? {} : { parentRunId: id.parentRunId }),
    ...(id.deadline === undefined ? {} : { deadline: id.deadline }),
  };
}

/** A driver that says nothing of its history gets the input and its text remembered. */
function keepHistory({ run, input }: TurnScope, { history, text }: HarnessDriverOutput, before: number): void {
  if (history !== undefined) run.history.extendTo(history);
  if (history !== undefined || run.history.length > before) return;
  const messages: ChatMessage[] = [{ role: "user", content: input }];
  if (text !== "") messages.push({ role: "assistant", content: text });
  run.history.append(messages);
}

function together(before: HarnessDriverOutput, last: HarnessDriverOutput): HarnessDriverOutput {
  const artifacts = [...(before.artifacts ?? []), ...(last.artifacts ?? [])];
  const reported = [before.usage, last.usage].filter((usage) => usage !== undefined);
  return {
    ...last,
    ...(artifacts.length === 0 ? {} : { artifacts }),
    ...(reported.length === 0 ? {} : { usage: reported.reduce(addUsage, NO_USAGE) }),
  };
}
