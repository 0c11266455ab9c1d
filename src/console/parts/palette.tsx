import { signal } from "@preact/signals";
import { useId, useLayoutEffect, useState } from "preact/hooks";
import { type Command, currentCommands } from "../commands.js";
import { Dialog } from "./dialog.js";
import { Keys } from "./keys.js";

const open = signal(false);

export function openPalette(): void {
  open.value = true;
}

/** Everything the page can do now, found by a few letters of its name. */
export function Palette() {
  return open.value ? <PaletteDialog /> : null;
}

function PaletteDialog() {
  const commands = currentCommands();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const listId = useId();
  const find = (typed: string) => commands.filter((command) => command.hidden !== true && matches(command, typed));
  const found = find(text);
  const current = Math.min(chosen, found.length - 1);
  const close = (): void => {
    open.value = false;
  };
  const run = (command: Command | undefined): void => {
    close();
    // The dialog gives the focus back first, so that the command may take it.
    if (command !== undefined) setTimeout(command.run);
  };
  const optionId = (index: number): string => `${listId}-${index}`;
  const bringIntoView = (index: number): void =>
    document.getElementById(optionId(index))?.scrollIntoView({ block: "nearest" });
  const choose = (index: number): void => {
    setChosen(index);
    bringIntoView(index);
  };
  useLayoutEffect(() => bringIntoView(0), [text]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) choose((current + step + found.length) % Math.max(1, found.length));
    // By what is in the box: it may not have been drawn yet.
    else if (event.key === "Enter") run(find((event.currentTarget as HTMLInputElement).value)[current]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Commands" bare class="palette" onClose={close}>
      <input
        role="combobox"
        aria-label="Find a command"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={found.length > 0 ? optionId(current) : undefined}
        placeholder="What do you want to do?"
        autoFocus
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div id={listId} role="listbox" aria-label="Commands">
        {found.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the keys
          <div
            key={command.title}
            id={optionId(index)}
            role="option"
            tabIndex={-1}
            aria-selected={index === current}
            onClick={() => run(command)}
            onPointerMove={() => setChosen(index)}
          >
            <span>{command.title}</span>
            {command.keys === undefined ? null : <Keys keys={command.keys} />}
          </div>
        ))}
      </div>
      {found.length === 0 ? <p class="hint">Nothing is called that.</p> : null}
    </Dialog>
  );
}

/** Whether the letters occur in the title in this order. */
function matches({ title }: Command, text: string): boolean {
  let at = 0;
  const lower = title.toLowerCase();
  for (const letter of text.toLowerCase().replaceAll(" ", "")) {
    at = lower.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}
