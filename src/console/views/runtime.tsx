import { useEffect, useState } from "preact/hooks";
import { HealthCheckResponse_ServingStatus as ServingStatus } from "../../../gen/ts/grpc/health/v1/health_pb.js";
import { description, serverHealth } from "../live/server-state.js";
import { CopyButton } from "../parts/copy-button.js";
import { nowMs } from "../parts/now.js";
import { useTitle } from "../parts/title.js";
import { baseUrl, forgetToken, health, tokenUsed } from "../session.js";
import { THEMES, type Theme, theme } from "../theme.js";
import { bytes, count, durationText } from "../words/quantity.js";

/** What the runtime says of itself: version, health and limits. */
export function RuntimeView() {
  useTitle("Runtime");
  const { name, version, protocolVersion, limits } = description.value ?? {};
  return (
    <>
      <header class="view-head">
        <h1>Runtime</h1>
      </header>
      <section class="scroller page" tabIndex={0} aria-label="Runtime">
        <dl class="facts wide">
          <Fact name="Name">{name}</Fact>
          <Fact name="Version">{version}</Fact>
          <Fact name="Protocol">{protocolVersion}</Fact>
          <Fact name="Address">
            <code>{baseUrl}</code> <CopyButton what="the address" text={() => baseUrl} />
          </Fact>
        </dl>
        <h2>Health</h2>
        <Services />
        <h2>Limits</h2>
        {limits === undefined ? null : (
          <dl class="facts wide">
            <Fact name="Event">{bytes(limits.maxEventBytes)}</Fact>
            <Fact name="Request">{bytes(limits.maxRequestBytes)}</Fact>
            <Fact name="Page">{count(limits.maxPageSize)}</Fact>
            <Fact name="Inputs that wait">{count(limits.maxQueuedInputs)}</Fact>
            <Fact name="Heartbeat">{durationText(limits.heartbeatInterval)}</Fact>
          </dl>
        )}
        <h2>This page</h2>
        <dl class="facts wide">
          <Fact name="Theme">
            <div class="segments" role="group" aria-label="Theme">
              {THEMES.map((name) => (
                <button
                  type="button"
                  key={name}
                  aria-pressed={theme.value === name}
                  onClick={() => {
                    theme.value = name;
                  }}
                >
                  {THEME_NAMES[name]}
                </button>
              ))}
            </div>
          </Fact>
        </dl>
        {tokenUsed.value ? (
          <p>
            <button type="button" onClick={forgetToken}>
              Forget the token
            </button>
          </p>
        ) : null}
      </section>
    </>
  );
}

const THEME_NAMES: Readonly<Record<Theme, string>> = { auto: "As the system", light: "Light", dark: "Dark" };

function Fact({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The health of every service, asked again with each change of the whole. */
function Services() {
  const [states, setStates] = useState<readonly (readonly [string, ServingStatus])[]>([]);
  const round = Math.floor(nowMs.value / 10_000);
  useEffect(() => {
    health
      .list({})
      .then(({ statuses }) => {
        const entries = Object.entries(statuses).map(([service, { status }]) => [service, status] as const);
        setStates(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
      })
      .catch(() => setStates([]));
  }, [round, serverHealth.value]);
  return (
    <ul class="services">
      {states.map(([service, status]) => (
        <li key={service} class={`health ${status === ServingStatus.SERVING ? "serving" : "draining"}`}>
          <span class="dot" aria-hidden="true" />
          <code>{service || "all"}</code>
          <span>{ServingStatus[status]?.replace("_", " ").toLowerCase()}</span>
        </li>
      ))}
      {states.length === 0 ? <li class="hint">The server does not answer.</li> : null}
    </ul>
  );
}
