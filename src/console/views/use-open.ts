import { useEffect, useMemo } from "preact/hooks";

/** Opens something for as long as a component is shown, and anew when `key` changes. */
export function useOpen<T extends { close(): void }>(open: () => T, key: string): T {
  const opened = useMemo(open, [key]);
  useEffect(() => () => opened.close(), [opened]);
  return opened;
}
