/** Returns the one of `names` that `word` is most likely a slip of: at most two letters away. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const scored = names.map((name) => ({ name, distance: distance(word, name) }));
  return scored.filter((one) => one.distance <= 2).sort((one, other) => one.distance - other.distance)[0]?.name;
}

/** The letters to insert, remove or change to make `from` into `to`. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...to].entries()) {
      const change = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
