import type { ConformanceResult, Provider } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { providers, providersRefusal } from "../live/server-state.js";
import { JsonView } from "../parts/json-view.js";
import { Refusal } from "../parts/link-state.js";
import { Ago } from "../parts/times.js";
import { useTitle } from "../parts/title.js";
import { hrefOf } from "../route.js";
import { levelName, topologyName } from "../words/names.js";
import { count } from "../words/quantity.js";

/** Every provider with what it says it can do, and what was measured. */
export function ProvidersView() {
  useTitle("Providers");
  const all = providers.value;
  return (
    <>
      <header class="view-head">
        <h1>Providers</h1>
      </header>
      <section class="scroller page" tabIndex={0} aria-label="Providers">
        {all === undefined ? <NoProviders /> : null}
        {all?.length === 0 ? <p class="empty quiet">No provider is configured.</p> : null}
        {all?.map((provider) => (
          <ProviderCard key={provider.manifest?.id} provider={provider} />
        ))}
      </section>
    </>
  );
}

/** What there is to say before the providers are there: that they come, or why not. */
export function NoProviders() {
  const refusal = providersRefusal.value;
  return refusal === undefined ? <p class="empty quiet">Loading…</p> : <Refusal error={refusal} />;
}

function ProviderCard({ provider }: { readonly provider: Provider }) {
  const { manifest, available, unavailableReason, activeExecutions, capacity, conformance } = provider;
  if (manifest === undefined) return null;
  const { id, name, version, topologies, configSchema } = manifest;
  return (
    <article class="provider-card" aria-label={name || id}>
      <header>
        <h2 dir="auto">{name || id}</h2>
        <span class={`badge ${available ? "tone-good" : "tone-bad"}`}>{available ? "Available" : "Unavailable"}</span>
        {available ? (
          <a class="button end" href={hrefOf({ view: "start", providerId: id, conversationId: "" })}>
            Start
          </a>
        ) : null}
      </header>
      <p class="meta">
        <code>{id}</code> {version} · {topologies.map(topologyName).join(", ")} · {count(activeExecutions)}
        {capacity === undefined ? "" : ` of ${count(capacity)}`} running
      </p>
      {unavailableReason === "" ? null : <p class="bad">{unavailableReason}</p>}
      <Capabilities provider={provider} />
      <Conformance result={conformance} />
      {configSchema === undefined ? null : (
        <details class="group">
          <summary>Schema of its configuration</summary>
          <JsonView value={configSchema} />
        </details>
      )}
    </article>
  );
}

/** What a manifest claims beside what the conformance suite measured. */
function Capabilities({ provider }: { readonly provider: Provider }) {
  const claimed = provider.manifest?.capabilities ?? {};
  const measured = provider.conformance?.measuredLevels ?? {};
  const names = [...new Set([...Object.keys(claimed), ...Object.keys(measured)])].sort();
  return (
    <table class="capabilities">
      <caption class="sr-only">Capabilities of {provider.manifest?.name || provider.manifest?.id}</caption>
      <thead>
        <tr>
          <th scope="col">Capability</th>
          <th scope="col">Claimed</th>
          <th scope="col">Measured</th>
        </tr>
      </thead>
      <tbody>
        {names.map((name) => {
          const claim = claimed[name] ?? SupportLevel.UNSUPPORTED;
          const found = measured[name];
          return (
            <tr key={name}>
              <th scope="row">
                <code>{name}</code>
              </th>
              <td>
                <Level level={claim} />
              </td>
              <td>
                {found === undefined ? <span class="none">–</span> : <Level level={found} lower={found > claim} />}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Level({ level, lower = false }: { readonly level: SupportLevel; readonly lower?: boolean }) {
  return (
    <span class={`level level-${SupportLevel[level]?.toLowerCase()} ${lower ? "lower" : ""}`}>
      {levelName(level)}
      {lower ? <span class="hint"> less than claimed</span> : null}
    </span>
  );
}

function Conformance({ result }: { readonly result: ConformanceResult | undefined }) {
  if (result === undefined) {
    return (
      <p class="hint">
        Not measured yet: <code>harness conformance</code> runs the suite against a provider.
      </p>
    );
  }
  const { suiteVersion, measureTime, passed, failed } = result;
  return (
    <p class="hint">
      Suite {suiteVersion}: {count(passed)} passed, <span class={failed > 0 ? "bad" : ""}>{count(failed)} failed</span>,{" "}
      <Ago time={measureTime} />
    </p>
  );
}
