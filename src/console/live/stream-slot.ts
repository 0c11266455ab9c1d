/**
 * How many streams all tabs of this origin may have open together. Over
 * HTTP/1.1 a browser opens six connections to an origin, over all its tabs; two
 * are left for calls, so that an action can be answered in any tab.
 */
const SLOTS = 4;

/** The right to have one stream open. Give it back when the stream has ended. */
export interface StreamSlot {
  release(): void;
}

const FREE: StreamSlot = { release: () => undefined };

/**
 * Returns a slot, or undefined where all are taken: then poll, and ask again.
 * Over HTTP/2 there is no such limit. Pages that have no locks (plain http to
 * another machine) stream without one: only visible tabs do.
 */
export async function takeStreamSlot(): Promise<StreamSlot | undefined> {
  if (overHttp2() || navigator.locks === undefined) return FREE;
  for (let slot = 0; slot < SLOTS; slot++) {
    const taken = await tryLock(`harness.stream.${slot}`);
    if (taken !== undefined) return taken;
  }
  return undefined;
}

/** Locks are given back by the browser when their tab closes or crashes. */
async function tryLock(name: string): Promise<StreamSlot | undefined> {
  return await new Promise((resolve, reject) => {
    const held = navigator.locks.request(name, { ifAvailable: true }, (lock) => {
      if (lock === null) {
        resolve(undefined);
        return;
      }
      return new Promise<void>((release) => resolve({ release }));
    });
    held.catch(reject);
  });
}

function overHttp2(): boolean {
  const [page] = performance.getEntriesByType("navigation");
  return page instanceof PerformanceNavigationTiming && /^h[23]/.test(page.nextHopProtocol);
}
