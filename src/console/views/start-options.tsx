import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { StartExecutionRequestSchema } from "../../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { ActionTimeoutPolicy, RunMode } from "../../../gen/ts/harnessruntime/v1/policy_pb.js";
import { type Provider, SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { parseLabels } from "../words/labels.js";

/** The rest of what can be said at the start, as it was typed. */
export interface StartOptionValues {
  readonly conversationId: string;
  readonly labels: string;
  readonly timeoutSeconds: string;
  readonly actionTimeoutSeconds: string;
  readonly onTimeout: ActionTimeoutPolicy;
  readonly maxTokens: string;
  readonly maxToolCalls: string;
  readonly plan: boolean;
}

export const NO_OPTIONS: StartOptionValues = {
  conversationId: "",
  labels: "",
  timeoutSeconds: "",
  actionTimeoutSeconds: "",
  onTimeout: ActionTimeoutPolicy.DENY,
  maxTokens: "",
  maxToolCalls: "",
  plan: false,
};

/** The request's fields; what was left empty is left out. */
export function toRequestOptions(
  values: StartOptionValues,
): Omit<MessageInitShape<typeof StartExecutionRequestSchema>, "$typeName" | "$unknown"> {
  const timeout = seconds(values.timeoutSeconds);
  const actionTimeout = seconds(values.actionTimeoutSeconds);
  const budgets = {
    ...(values.maxTokens === "" ? {} : { maxTokens: Number(values.maxTokens) }),
    ...(values.maxToolCalls === "" ? {} : { maxToolCalls: Number(values.maxToolCalls) }),
  };
  return {
    conversationId: values.conversationId.trim(),
    labels: parseLabels(values.labels),
    ...(timeout === undefined ? {} : { timeout }),
    ...(actionTimeout === undefined ? {} : { actionPolicy: { timeout: actionTimeout, onTimeout: values.onTimeout } }),
    ...(Object.keys(budgets).length === 0 ? {} : { budgets }),
    ...(values.plan ? { runMode: RunMode.PLAN } : {}),
  };
}

function seconds(text: string) {
  return text === "" ? undefined : durationFromMs(Number(text) * 1_000);
}

export interface StartOptionsProps {
  readonly values: StartOptionValues;
  readonly provider: Provider;
  onChange(values: StartOptionValues): void;
}

/** What few people need at the start: folded away. */
export function StartOptions({ values, provider, onChange }: StartOptionsProps) {
  const change = (part: Partial<StartOptionValues>): void => onChange({ ...values, ...part });
  const plans = provider.manifest?.capabilities["policy.plan"] ?? SupportLevel.UNSUPPORTED;
  return (
    <details class="group" open={values.conversationId !== ""}>
      <summary>More</summary>
      <div class="columns">
        <Text
          name="Conversation"
          hint="Empty makes a new one"
          value={values.conversationId}
          onChange={(conversationId) => change({ conversationId })}
        />
        <Text
          name="Labels"
          hint="name=value, name=value"
          value={values.labels}
          onChange={(labels) => change({ labels })}
        />
        <Amount
          name="Time limit, seconds"
          value={values.timeoutSeconds}
          onChange={(timeoutSeconds) => change({ timeoutSeconds })}
        />
        <Amount name="Most tokens" value={values.maxTokens} onChange={(maxTokens) => change({ maxTokens })} />
        <Amount
          name="Most tool calls"
          value={values.maxToolCalls}
          onChange={(maxToolCalls) => change({ maxToolCalls })}
        />
        <Amount
          name="Actions expire after, seconds"
          value={values.actionTimeoutSeconds}
          onChange={(actionTimeoutSeconds) => change({ actionTimeoutSeconds })}
        />
        {values.actionTimeoutSeconds === "" ? null : (
          <label class="field">
            <span class="label">When an action expires</span>
            <select
              value={String(values.onTimeout)}
              onChange={(event) => change({ onTimeout: Number(event.currentTarget.value) })}
            >
              <option value={String(ActionTimeoutPolicy.DENY)}>Deny it</option>
              <option value={String(ActionTimeoutPolicy.FAIL)}>Fail the execution</option>
              <option value={String(ActionTimeoutPolicy.CANCEL)}>Cancel the execution</option>
            </select>
          </label>
        )}
      </div>
      {plans === SupportLevel.UNSUPPORTED ? null : (
        <label class="check">
          <input
            type="checkbox"
            checked={values.plan}
            onChange={(event) => change({ plan: event.currentTarget.checked })}
          />
          <span>Only plan</span>
        </label>
      )}
    </details>
  );
}

interface OptionInputProps {
  readonly name: string;
  readonly hint?: string;
  readonly value: string;
  onChange(value: string): void;
}

function Text({ name, hint, value, onChange }: OptionInputProps) {
  return (
    <label class="field">
      <span class="label">{name}</span>
      <input
        dir="auto"
        spellcheck={false}
        placeholder={hint}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

function Amount({ name, value, onChange }: OptionInputProps) {
  return (
    <label class="field">
      <span class="label">{name}</span>
      <input
        type="number"
        min={1}
        step={1}
        placeholder="No limit"
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}
