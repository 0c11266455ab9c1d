/** Deeper data is refused elsewhere. */
const MOST_LEVELS = 100;

/**
 * Returns plain data with every string well-formed: half a surrogate pair, which
 * UTF-8 has no form for and which agents make when they cut a text, becomes
 * U+FFFD. What is well-formed already is returned as it is, not copied.
 */
export function wellFormed<T>(value: T, depth = 0): T {
  if (typeof value === "string") return value.toWellFormed() as T;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array || depth > MOST_LEVELS) return value;
  const entries = Object.entries(value);
  const clean = entries.map(([key, part]) => [key.toWellFormed(), wellFormed<unknown>(part, depth + 1)] as const);
  if (clean.every(([key, part], index) => key === entries[index]?.[0] && part === entries[index]?.[1])) return value;
  if (Array.isArray(value)) return clean.map(([, part]) => part) as T;
  return Object.assign(Object.create(Object.getPrototypeOf(value)) as object, Object.fromEntries(clean)) as T;
}
