import { Code } from "@connectrpc/connect";
import { toRpcError } from "../../client/errors.js";
import type { Live } from "../live/live.js";
import { forgetToken, tokenUsed } from "../session.js";
import { Icon } from "./icon.js";
import { errorText } from "./notices.js";
import { nowMs } from "./now.js";

/** Says when what is shown is not current, and lets people do something about it. */
export function LinkBanner({ live, lost }: { readonly live: Live; readonly lost?: () => string }) {
  const link = live.link.value;
  if (link.state === "lost") {
    const seconds = Math.ceil((link.retryTimeMs - nowMs.value) / 1_000);
    return (
      <div class="banner attention" role="status">
        <Icon name="bang" />
        <span>
          Connection lost. {lost?.()} {/* Not said aloud, which it would be every second. */}
          <span aria-hidden="true">{seconds > 0 ? `Trying again in ${seconds} s.` : "Trying again."}</span>
        </span>
        <button type="button" onClick={live.retryNow}>
          Try now
        </button>
      </div>
    );
  }
  return link.state === "failed" ? <Refusal error={link.error} /> : null;
}

/** Says why the server does not show what was asked for. */
export function Refusal({ error }: { readonly error: unknown }) {
  return (
    <div class="banner bad" role="alert">
      <Icon name="cross" />
      <span dir="auto">{errorText(error)}</span>
      {tokenUsed.value && toRpcError(error).code === Code.PermissionDenied ? (
        <button type="button" onClick={forgetToken}>
          Use another token
        </button>
      ) : (
        <button type="button" onClick={() => location.reload()}>
          Load again
        </button>
      )}
    </div>
  );
}

/** How current what is shown is, in a word. */
export function LinkWord({ live }: { readonly live: Live }) {
  const words = {
    connecting: "Connecting",
    live: "Live",
    polling: "Every second",
    lost: "Lost",
    ended: "Complete",
    failed: "Stopped",
  };
  const { state } = live.link.value;
  const hint = state === "polling" ? "Other tabs have all the streams that the browser allows" : undefined;
  return (
    <span class={`link-word ${state}`} title={hint}>
      <span class="dot" aria-hidden="true" />
      {words[state]}
    </span>
  );
}
