/** Where a browser keeps something: for as long as the tab is open, or until it is removed. */
type Place = "sessionStorage" | "localStorage";

/** Reads what was stored; undefined also where the browser keeps nothing for this page. */
export function readStored(place: Place, name: string): string | undefined {
  try {
    return globalThis[place].getItem(name) ?? undefined;
  } catch {
    // Whoever blocks storage gets a page that remembers nothing.
    return undefined;
  }
}

/** Stores a text, or removes it with undefined. Does nothing where the browser keeps nothing for this page. */
export function writeStored(place: Place, name: string, text: string | undefined): void {
  try {
    if (text === undefined) globalThis[place].removeItem(name);
    else globalThis[place].setItem(name, text);
  } catch {
    // As above: what was chosen holds until the page is left.
  }
}
