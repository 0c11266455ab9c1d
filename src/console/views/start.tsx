import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { useEffect, useMemo, useState } from "preact/hooks";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionService } from "../../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import type { Provider } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { toRpcError } from "../../client/errors.js";
import { isObject, parseField } from "../forms/field.js";
import { isReadable, LongText } from "../forms/labelled.js";
import { type Flaw, findFlaws, initialValue } from "../forms/value.js";
import { ValueForm } from "../forms/value-form.js";
import { grpcurl } from "../grpcurl.js";
import { providers } from "../live/server-state.js";
import { CopyButton } from "../parts/copy-button.js";
import { Icon } from "../parts/icon.js";
import { notifyError } from "../parts/notices.js";
import { useTitle } from "../parts/title.js";
import { goTo } from "../route.js";
import { client } from "../session.js";
import { examplesOf } from "./examples.js";
import { NoProviders } from "./providers.js";
import { NO_OPTIONS, StartOptions, type StartOptionValues, toRequestOptions } from "./start-options.js";

export interface StartViewProps {
  readonly providerId: string;
  readonly conversationId: string;
}

/** Starts an execution: of which provider, with what input and what configuration. */
export function StartView({ providerId, conversationId }: StartViewProps) {
  useTitle("Start an execution");
  const all = providers.value;
  const named = all?.find(({ manifest }) => manifest?.id === providerId);
  const provider = named ?? all?.find(({ available }) => available) ?? all?.[0];
  return (
    <>
      <header class="view-head">
        <h1>Start an execution</h1>
      </header>
      <section class="scroller page" tabIndex={0} aria-label="Start an execution">
        {all === undefined ? <NoProviders /> : null}
        {all?.length === 0 ? <p class="empty quiet">No provider is configured: nothing can be started.</p> : null}
        {provider === undefined ? null : (
          <>
            {providerId === "" || named !== undefined ? null : <Unknown providerId={providerId} chosen={provider} />}
            <StartForm
              key={provider.manifest?.id}
              provider={provider}
              all={all ?? []}
              conversationId={conversationId}
            />
          </>
        )}
      </section>
    </>
  );
}

/** Says that another provider was chosen than the address names. */
function Unknown({ providerId, chosen }: { readonly providerId: string; readonly chosen: Provider }) {
  return (
    <p class="banner attention" role="alert">
      <Icon name="bang" />
      <span>
        This runtime has no provider <code>{providerId}</code>: {chosen.manifest?.name || chosen.manifest?.id} is chosen
        instead.
      </span>
    </p>
  );
}

interface StartFormProps {
  readonly provider: Provider;
  readonly all: readonly Provider[];
  readonly conversationId: string;
}

function StartForm({ provider, all, conversationId }: StartFormProps) {
  const { manifest } = provider;
  const providerId = manifest?.id ?? "";
  const field = useMemo(() => parseField(manifest?.configSchema), [providerId]);
  const [input, setInput] = useState("");
  const [config, setConfig] = useState<JsonValue | undefined>(() => initialValue(field));
  const [options, setOptions] = useState<StartOptionValues>({ ...NO_OPTIONS, conversationId });
  const [flaws, setFlaws] = useState<readonly Flaw[]>([]);
  const [busy, setBusy] = useState(false);
  useEffect(() => setOptions((before) => ({ ...before, conversationId })), [conversationId]);
  const request = () => ({
    providerId,
    input: { text: input },
    ...(isObject(config) && Object.keys(config).length > 0 ? { config: config as JsonObject } : {}),
    ...toRequestOptions(options),
  });
  const start = async (): Promise<void> => {
    const found = findFlaws(field, config);
    setFlaws(found);
    if (found.length > 0) return;
    setBusy(true);
    try {
      const { execution } = await client.executions.startExecution(request());
      if (execution !== undefined) goTo({ view: "execution", id: execution.id, tab: "timeline", sequence: 0 });
    } catch (error) {
      setFlaws(flawsOf(error));
      notifyError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      class="start-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (isReadable(event.currentTarget)) void start();
      }}
    >
      <ProviderChoice all={all} provider={provider} conversationId={conversationId} />
      <Examples
        provider={provider}
        onChoose={(example) => {
          setInput(example.input);
          setConfig(example.config);
          setFlaws([]);
        }}
      />
      <div class="field">
        <label class="label" for="start-input">
          Input
        </label>
        <LongText
          id="start-input"
          class="input"
          rows={3}
          autoFocus
          placeholder="What should it do?"
          value={input}
          onInput={setInput}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
          }}
        />
      </div>
      <details class="group" open={flaws.length > 0 || (isObject(config) && Object.keys(config).length > 0)}>
        <summary>Configuration</summary>
        <ValueForm field={field} name="configuration" value={config} flaws={flaws} onChange={setConfig} />
      </details>
      <StartOptions values={options} provider={provider} onChange={setOptions} />
      <div class="buttons">
        <button type="submit" class="primary" disabled={busy}>
          Start
        </button>
        <CopyButton
          label="Copy as grpcurl"
          what="the grpcurl command that starts it"
          text={() => grpcurl(ExecutionService.method.startExecution, request())}
        />
      </div>
    </form>
  );
}

/** The fields that the server says are wrong, by the names of the form. */
function flawsOf(error: unknown): readonly Flaw[] {
  const { reason, violations } = toRpcError(error);
  if (reason !== ErrorReason.VALIDATION_ERROR) return [];
  return violations.map(({ field, description }) => ({ path: field.replace(/^config\./, ""), text: description }));
}

function ProviderChoice({ all, provider, conversationId }: StartFormProps) {
  const providerId = provider.manifest?.id;
  return (
    <div class="field">
      <label class="label" for="start-provider">
        Provider
      </label>
      <select
        id="start-provider"
        aria-describedby="start-provider-hint"
        value={providerId}
        onChange={(event) =>
          goTo({ view: "start", providerId: event.currentTarget.value, conversationId }, { replace: true })
        }
      >
        {all.map(({ manifest, available }) => (
          <option key={manifest?.id} value={manifest?.id} disabled={!available && manifest?.id !== providerId}>
            {manifest?.name || manifest?.id}
            {available ? "" : " (unavailable)"}
          </option>
        ))}
      </select>
      <p id="start-provider-hint" class="hint bad" hidden={provider.available}>
        It takes no work now: {provider.unavailableReason || "it is unavailable"}.
      </p>
    </div>
  );
}

function Examples({
  provider,
  onChoose,
}: {
  readonly provider: Provider;
  onChoose(example: { readonly input: string; readonly config: JsonObject }): void;
}) {
  const examples = examplesOf(provider);
  if (examples.length === 0) return null;
  return (
    <div class="field">
      <span class="label" id="examples">
        Examples
      </span>
      <div class="chips" role="group" aria-labelledby="examples">
        {examples.map((example) => (
          <button type="button" key={example.title} onClick={() => onChoose(example)}>
            {example.title}
          </button>
        ))}
      </div>
    </div>
  );
}
