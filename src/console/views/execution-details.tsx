import type { ComponentChildren } from "preact";
import type { Execution } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ExecutionSchema } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ExecutionService } from "../../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import type { Usage } from "../../../gen/ts/harnessruntime/v1/usage_pb.js";
import { grpcurl } from "../grpcurl.js";
import type { FollowedExecution } from "../live/followed-execution.js";
import { ArtifactLine } from "../parts/artifact-line.js";
import { CopyButton } from "../parts/copy-button.js";
import { JsonView } from "../parts/json-view.js";
import { PlanEntries } from "../parts/plan-entries.js";
import { Ago } from "../parts/times.js";
import { executionHref, hrefOf, NO_FILTER } from "../route.js";
import { jsonOf, messageText } from "../words/json.js";
import { failureName } from "../words/names.js";
import { count, money } from "../words/quantity.js";

/** Everything about an execution that is not its log. */
export function ExecutionDetails({ followed }: { readonly followed: FollowedExecution }) {
  const execution = followed.execution.value;
  const plan = followed.timeline.plan.value;
  const artifacts = followed.timeline.artifacts.value;
  if (execution === undefined) return null;
  return (
    <section class="details" tabIndex={0} aria-label="Details of the execution">
      <Failure execution={execution} />
      {plan.length === 0 ? null : (
        <Part name="Plan">
          <PlanEntries entries={plan} />
        </Part>
      )}
      {artifacts.length === 0 ? null : (
        <Part name="Artifacts">
          {artifacts.map((artifact) => (
            <ArtifactLine key={artifact.id} artifact={artifact} />
          ))}
        </Part>
      )}
      <UsagePart usage={execution.usage} />
      <Part name="Execution">
        <Facts execution={execution} />
      </Part>
      <Labels execution={execution} />
      <StructuredOutput execution={execution} />
      {Object.keys(execution.effectiveConfig ?? {}).length === 0 ? null : (
        <details class="group">
          <summary>Configuration</summary>
          <JsonView value={execution.effectiveConfig} />
        </details>
      )}
      <div class="buttons">
        <CopyButton label="JSON" what="the execution's JSON" text={() => messageText(ExecutionSchema, execution)} />
        <CopyButton
          label="grpcurl"
          what="the grpcurl command that reads it"
          text={() => grpcurl(ExecutionService.method.getExecution, { executionId: execution.id })}
        />
      </div>
    </section>
  );
}

function Part({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <section class="part" aria-label={name}>
      <h2>{name}</h2>
      {children}
    </section>
  );
}

function Failure({ execution: { error, containment } }: { readonly execution: Execution }) {
  const escaped = containment?.escaped ?? [];
  if (error === undefined && escaped.length === 0) return null;
  return (
    <Part name={error === undefined ? "Stopped" : failureName(error.reason)}>
      {error === undefined ? null : (
        <p class="bad" dir="auto">
          {error.message}
        </p>
      )}
      {error?.cleanupError ? <p dir="auto">Clean-up: {error.cleanupError}</p> : null}
      {escaped.length === 0 ? null : <p>Still running: {escaped.join(", ")}</p>}
    </Part>
  );
}

function Labels({ execution: { labels } }: { readonly execution: Execution }) {
  const entries = Object.entries(labels);
  if (entries.length === 0) return null;
  return (
    <Part name="Labels">
      <ul class="labels">
        {entries.map(([name, value]) => (
          <li key={name} dir="auto">
            <a
              class="label-chip"
              href={hrefOf({ view: "executions", filter: { ...NO_FILTER, labels: `${name}=${value}` } })}
            >
              {value === "" ? name : `${name}=${value}`}
            </a>
          </li>
        ))}
      </ul>
    </Part>
  );
}

function StructuredOutput({ execution }: { readonly execution: Execution }) {
  const output = jsonOf(execution.structuredOutput);
  return output === undefined ? null : (
    <Part name="Structured output">
      <JsonView value={output} />
    </Part>
  );
}

function UsagePart({ usage }: { readonly usage: Usage | undefined }) {
  const facts: readonly (readonly [string, number | undefined])[] = [
    ["Tokens", usage?.totalTokens],
    ["Prompt", usage?.promptTokens],
    ["Completion", usage?.completionTokens],
    ["Cached", usage?.cachedTokens],
    ["Reasoning", usage?.reasoningTokens],
    ["Model calls", usage?.modelCalls],
    ["Tool calls", usage?.toolCalls],
  ];
  const known = facts.filter((fact): fact is readonly [string, number] => (fact[1] ?? 0) > 0);
  if (known.length === 0 && usage?.cost === undefined) return null;
  return (
    <Part name="Usage">
      <dl class="facts">
        {known.map(([name, value]) => (
          <Fact key={name} name={name}>
            {count(value)}
          </Fact>
        ))}
        {usage?.cost === undefined ? null : <Fact name="Cost">{money(usage.cost)}</Fact>}
      </dl>
    </Part>
  );
}

function Facts({ execution }: { readonly execution: Execution }) {
  const { conversationId, parentExecutionId, userId, deadlineTime, cancel } = execution;
  const conversation = hrefOf({ view: "executions", filter: { ...NO_FILTER, conversationId } });
  return (
    <dl class="facts">
      <Fact name="Provider">
        {execution.providerId} {execution.providerVersion}
      </Fact>
      <Fact name="Created">
        <Ago time={execution.createTime} />
        {userId === "" ? "" : ` by ${userId}`}
      </Fact>
      <Fact name="Turn">{execution.turn}</Fact>
      {execution.attempt > 1 ? <Fact name="Attempt">{execution.attempt}</Fact> : null}
      <Fact name="Id">
        <span class="id">
          <code title={execution.id}>{execution.id}</code>
          <CopyButton what="the id" text={() => execution.id} />
        </span>
      </Fact>
      <Fact name="Conversation">
        <a class="id" href={conversation} title={conversationId}>
          <code>{conversationId}</code>
        </a>
      </Fact>
      {parentExecutionId === "" ? null : (
        <Fact name="Parent">
          <a class="id" href={executionHref(parentExecutionId)} title={parentExecutionId}>
            <code>{parentExecutionId}</code>
          </a>
        </Fact>
      )}
      {deadlineTime === undefined ? null : (
        <Fact name="Deadline">
          <Ago time={deadlineTime} />
        </Fact>
      )}
      {cancel === undefined ? null : (
        <Fact name="Cancelled">
          {cancel.principal?.userId || "by the runtime"}
          {cancel.reason === "" ? "" : `: ${cancel.reason}`}
        </Fact>
      )}
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt dir="auto">{name}</dt>
      <dd dir="auto">{children}</dd>
    </div>
  );
}
