import { invalid } from "../core/errors.js";
import { startChild } from "./children.js";
import { toProviderEvent } from "./emission.js";
import type { EngineRun } from "./engine-run.js";
import type { HarnessEventPayload } from "./event.js";
import { sessionKey } from "./identity.js";
import { callControlModel, callModel, streamModel } from "./model-calls.js";
import type { ScopedResource } from "./resource.js";
import type { HarnessExecutionServices } from "./services.js";
import { dispatch, dispatchEffect, observeTool } from "./tool-calls.js";
import type { TurnScope } from "./turn-scope.js";

/** Makes the services of one turn. Every operation checks first whether the run may go on. */
export function createServices(turn: TurnScope): HarnessExecutionServices {
  const { run, ctx } = turn;
  const { config, id } = run;
  const { definition, approvalManager } = config;
  return {
    ctx,
    signal: turn.signal,
    executionPolicy: config.executionPolicy,
    state: run.state,
    sessionKey: sessionKey(id.identity, id.sessionId),
    ...(approvalManager === undefined ? {} : { approvalManager }),
    ...(definition === undefined ? {} : { definitionId: definition.id, agentConfiguration: agentConfiguration(turn) }),
    get tools() {
      return run.tools;
    },
    get history() {
      return run.history.copy();
    },
    model: (provider, messages, options, context) => callModel(turn, provider, messages, options, context),
    streamModel: (provider, messages, options, context) => streamModel(turn, provider, messages, options, context),
    controlModel: (role, messages, options) => callControlModel(turn, role, messages, options),
    dispatch: (call) => dispatch(turn, call),
    dispatchEffect: (name, args, execute, options) => dispatchEffect(turn, name, args, execute, options),
    observeTool: async (result, context) => {
      turn.contextOf(context);
      await observeTool(turn, result);
    },
    runOwned: (operation) => {
      const owned = runOwned(turn, operation);
      // The run waits for it and fails with it: the driver need not look at it.
      owned.catch(() => {});
      return owned;
    },
    recordConversation: (executionId, messages) => {
      turn.checkOpen();
      run.keepConversation(executionId, messages);
    },
    append: (messages) => {
      turn.checkOpen();
      run.history.append(messages);
    },
    emit: (payload: HarnessEventPayload) => {
      turn.checkOpen();
      turn.emitter.push(toProviderEvent(payload));
    },
    takeInput: () => {
      turn.checkOpen();
      const input = run.steers.shift();
      return input === undefined ? undefined : { input, mode: "steer" };
    },
    resource: (name, scope, initialize) => acquire(turn, name, scope, initialize),
    putArtifact: (value) => {
      turn.checkOpen();
      return putArtifact(run, value);
    },
    getArtifact: (artifactId) => {
      turn.checkOpen();
      return config.artifacts.get(id.identity, id.sessionId, artifactId);
    },
    ...(config.driver.members === undefined ? {} : { startChild: (member, input) => startChild(turn, member, input) }),
    saveResumeState: (state) => {
      turn.checkOpen();
      turn.context.saveResumeState(state);
    },
  };
}

/** Keeps a value until its session is closed, where that can be, or until there are too many. */
export function putArtifact({ config, id }: EngineRun, value: unknown): string {
  const { artifacts, resources, served } = config;
  const { identity, sessionId } = id;
  const artifactId = artifacts.put(identity, sessionId, value);
  if (served) return artifactId;
  const dispose = (): void => artifacts.closeSession(identity, sessionId);
  const tied = async () => ({ value: undefined, ownership: "runtime" as const, dispose });
  const tie = async (): Promise<void> =>
    await resources.acquire({ kind: "session", identity, sessionId }, "harness.artifacts", tied);
  tie().catch(() => {});
  return artifactId;
}

async function runOwned<T>(turn: TurnScope, operation: () => Promise<T>): Promise<T> {
  turn.checkOpen();
  return await turn.own(operation);
}

function agentConfiguration({ run: { config } }: TurnScope) {
  return {
    defaults: config.definition?.defaults ?? {},
    limits: config.definition?.limits ?? {},
    projectRoot: config.projectRoot,
  };
}

async function acquire<T>(
  turn: TurnScope,
  name: string,
  scope: "host" | "session" | "run",
  initialize: () => Promise<ScopedResource<T>>,
): Promise<T> {
  turn.checkOpen();
  const { config, id, resources } = turn.run;
  switch (scope) {
    case "run":
      return await resources.acquire(name, initialize);
    case "session":
      return await config.resources.acquire(
        { kind: "session", identity: id.identity, sessionId: id.sessionId },
        name,
        initialize,
      );
    case "host":
      return await config.resources.acquire({ kind: "host" }, name, initialize);
    default:
      throw invalid("scope", `${JSON.stringify(scope)} is not a scope; it must be host, session or run`);
  }
}
