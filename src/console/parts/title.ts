import { useEffect } from "preact/hooks";
import { pendingActions } from "../live/server-state.js";

/** Names the page, as tabs, histories and bookmarks show it, with how many actions wait. */
export function useTitle(text: string): void {
  const waiting = pendingActions.value;
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${text} · Harness`;
  }, [text, waiting]);
}
