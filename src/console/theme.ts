import { effect, signal } from "@preact/signals";
import { readStored, writeStored } from "./stored.js";

/** Light, dark, or as the machine is set. */
export type Theme = "auto" | "light" | "dark";
const KEY = "harness.theme";
export const THEMES: readonly Theme[] = ["auto", "light", "dark"];

export const theme = signal<Theme>(THEMES.find((name) => name === readStored("localStorage", KEY)) ?? "auto");

/** Keeps the page in its theme. */
export function applyTheme(): void {
  effect(() => {
    const name = theme.value;
    document.documentElement.dataset["theme"] = name;
    writeStored("localStorage", KEY, name === "auto" ? undefined : name);
  });
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "auto";
}
