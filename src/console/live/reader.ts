/** Reads something again and again, as often as that is of use. */
export interface Reader {
  /** Reads soon. */
  read(): void;
  /** Reads soon where the last try failed. */
  makeUp(): void;
  close(): void;
}

/** The least time between two reads. */
const INTERVAL_MS = 250;

/** Reads not more often than every {@link INTERVAL_MS}; the last wish is always fulfilled. */
export function createReader(run: () => Promise<void>): Reader {
  let wanted = false;
  let failed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const begin = (): void => {
    wanted = false;
    failed = false;
    timer = setTimeout(() => {
      timer = undefined;
      if (wanted) begin();
    }, INTERVAL_MS);
    // What could not be read is said by the link, which has lost the same server.
    run().catch(() => {
      failed = true;
    });
  };
  const read = (): void => {
    wanted = true;
    if (timer === undefined) begin();
  };
  return {
    read,
    makeUp() {
      if (failed) read();
    },
    close: () => clearTimeout(timer),
  };
}
