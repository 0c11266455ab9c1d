/** A configuration that cannot be used: one line that names the key, where it was set, and the mend. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** What is wrong with one key. */
export interface Problem {
  /** Where it was set: a file and line, a variable, or a flag. */
  readonly where: string;
  /** The key's path, such as `server.port`. */
  readonly key: string;
  /** What is wrong, and how to mend it. */
  readonly text: string;
}

/** Returns the error for a list of problems: the first in full, and how many more there are. */
export function configError([first, ...more]: readonly [Problem, ...Problem[]]): ConfigError {
  const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
  return new ConfigError(`${first.where}: ${first.key}: ${first.text}${others}`);
}
