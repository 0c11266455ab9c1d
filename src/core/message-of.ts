/** Returns an error's message; whatever was thrown instead of an error, in words. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return String(error.message);
  try {
    return String(error);
  } catch {
    return "something was thrown that has no form as text";
  }
}
