import { signal } from "@preact/signals";
import { currentCommands, setSingleKeys, singleKeys } from "../commands.js";
import { Dialog } from "./dialog.js";

const open = signal(false);

export function openKeys(): void {
  open.value = true;
}

const mac = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Keys as people know them. */
export function Keys({ keys }: { readonly keys: string }) {
  const parts = keys.startsWith("mod+") ? [mac ? "⌘" : "Ctrl", keys.slice(4).toUpperCase()] : keys.split(" ");
  return (
    <span class="keys">
      {parts.map((part) => (
        <kbd key={part}>{part}</kbd>
      ))}
    </span>
  );
}

/** The keys that work on what is shown now. */
export function KeysHelp() {
  return open.value ? <KeysDialog /> : null;
}

function KeysDialog() {
  const commands = currentCommands().filter(({ keys }) => keys !== undefined);
  return (
    <Dialog
      title="Keys"
      class="keys-help"
      onClose={() => {
        open.value = false;
      }}
    >
      <dl>
        {commands.map(({ title, keys = "" }) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>
              <Keys keys={keys} />
            </dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={singleKeys.value}
          onChange={(event) => setSingleKeys(event.currentTarget.checked)}
        />
        <span>Keys without {mac ? "Command" : "Control"}</span>
        <span class="hint">Turn them off if you speak to your machine.</span>
      </label>
    </Dialog>
  );
}
