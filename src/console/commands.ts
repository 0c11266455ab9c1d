import { type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { readStored, writeStored } from "./stored.js";

/** Something the page can do: by a key, and from the palette. */
export interface Command {
  readonly title: string;
  /** A key (`a`, `?`), two in a row (`g i`), or one with Control or Command (`mod+k`). Unset: only from the palette. */
  readonly keys?: string;
  /** Whether the palette leaves it out. Default false. */
  readonly hidden?: boolean;
  readonly run: () => void;
}

interface Group {
  readonly commands: () => readonly Command[];
}

const groups = signal<readonly Group[]>([]);
const SINGLE_KEYS = "harness.singleKeys";
/** Keys that may be held down. */
const REPEATABLE: ReadonlySet<string> = new Set(["j", "k"]);
/** The second of two keys comes within this time. */
const SEQUENCE_MS = 1_200;

/** Whether keys work without Control or Command. People who speak to their machine turn that off. */
export const singleKeys = signal(readStored("localStorage", SINGLE_KEYS) !== "off");

export function setSingleKeys(on: boolean): void {
  singleKeys.value = on;
  writeStored("localStorage", SINGLE_KEYS, on ? undefined : "off");
}

/** Offers commands while a component is shown. Those of the innermost component come first. */
export function useCommands(commands: readonly Command[]): void {
  const latest = useRef(commands);
  latest.current = commands;
  useEffect(() => {
    const group: Group = { commands: () => latest.current };
    groups.value = [group, ...groups.peek()];
    return () => {
      groups.value = groups.peek().filter((other) => other !== group);
    };
  }, []);
}

/** All commands there are now, the most specific first. */
export function currentCommands(shown: ReadonlySignal<readonly Group[]> = groups): readonly Command[] {
  return shown.value.flatMap((group) => group.commands());
}

let before = { key: "", timeMs: 0 };

/** Begins to listen to the keyboard. */
export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    const command = commandFor(event);
    if (command === undefined || (event.repeat && !REPEATABLE.has(event.key))) return;
    event.preventDefault();
    command.run();
  });
}

function commandFor(event: KeyboardEvent): Command | undefined {
  if (event.defaultPrevented || event.isComposing || event.altKey || isDialogOpen()) return undefined;
  const all = currentCommands();
  if (event.ctrlKey || event.metaKey) return all.find(({ keys }) => keys === `mod+${event.key.toLowerCase()}`);
  if (!singleKeys.value || isTyping(event.target)) return undefined;
  const second = event.timeStamp - before.timeMs < SEQUENCE_MS ? `${before.key} ${event.key}` : "";
  before = { key: event.key, timeMs: event.timeStamp };
  return all.find(({ keys }) => keys === second) ?? all.find(({ keys }) => keys === event.key);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

function isDialogOpen(): boolean {
  return document.querySelector("dialog[open]") !== null;
}
