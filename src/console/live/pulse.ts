/** Resolves when the page is visible, at once where it is. Throws the signal's reason. */
export async function untilVisible(signal: AbortSignal): Promise<void> {
  while (document.hidden) await nextEvent(document, "visibilitychange", signal);
  signal.throwIfAborted();
}

/** Resolves after `delayMs`, or as soon as the machine is back on a network. Throws the signal's reason. */
export async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), delayMs);
  try {
    await nextEvent(window, "online", AbortSignal.any([signal, over.signal])).catch(() => undefined);
  } finally {
    clearTimeout(timer);
  }
  signal.throwIfAborted();
}

/**
 * Calls `run` at once, and again after as many milliseconds as it resolved with,
 * while the page is visible; one call at a time. Failures are left to `run`.
 */
export async function whileVisible(run: () => Promise<number>, signal: AbortSignal): Promise<void> {
  try {
    for (;;) {
      await untilVisible(signal);
      await pause(await run(), signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Resolves as `promise` does. Throws the signal's reason where that comes first. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

async function nextEvent(target: EventTarget, name: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const done = (): void => {
      target.removeEventListener(name, happened);
      signal.removeEventListener("abort", aborted);
    };
    const happened = (): void => {
      done();
      resolve();
    };
    const aborted = (): void => {
      done();
      reject(signal.reason);
    };
    target.addEventListener(name, happened);
    signal.addEventListener("abort", aborted);
  });
}
