import { effect, signal } from "@preact/signals";

/** Light, dark, or as the machine is set. */
export type Theme = "auto" | "light" | "dark";
const KEY = "harness.theme";
export const THEMES: readonly Theme[] = ["auto", "light", "dark"];

export const theme = signal<Theme>(THEMES.find((name) => name === localStorage.getItem(KEY)) ?? "auto");

/** Keeps the page in its theme. */
export function applyTheme(): void {
  effect(() => {
    const name = theme.value;
    document.documentElement.dataset["theme"] = name;
    if (name === "auto") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, name);
  });
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "auto";
}
