/** Returns a section of the configuration. Sections are always there: the defaults name a value of each. */
export function mustHave<T>(section: T | undefined): T {
  if (section === undefined) throw new TypeError("a section of the configuration has no defaults");
  return section;
}
