import { useState } from "preact/hooks";
import { Icon } from "../parts/icon.js";
import { useTitle } from "../parts/title.js";
import { enterToken, tokenUsed } from "../session.js";

/** Asks for the token that the server wants. */
export function TokenView() {
  useTitle("Token");
  const [text, setText] = useState("");
  const [keep, setKeep] = useState(false);
  return (
    <main class="token-view">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== "") enterToken(text.trim(), keep);
        }}
      >
        <Icon name="key" />
        <h1>{tokenUsed.value ? "That token is not valid here" : "This runtime asks who you are"}</h1>
        <p class="hint">
          Paste a token with the scopes read, run and respond. <code>harness token create</code> makes one.
        </p>
        <label class="field">
          <span class="label">Token</span>
          <input
            type="password"
            autocomplete="current-password"
            autoFocus
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <label class="check">
          <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.currentTarget.checked)} />
          <span>Keep it in this browser</span>
          <span class="hint">Otherwise it is forgotten with the tab.</span>
        </label>
        <button type="submit" class="primary" disabled={text.trim() === ""}>
          Go on
        </button>
      </form>
    </main>
  );
}
