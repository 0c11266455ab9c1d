/** Messages on their way to one stream: pushed here, iterated by the transport. */
export interface Outbox<T> extends AsyncIterable<T> {
  push(message: T): void;
  /** Ends the iteration once everything was taken. */
  end(): void;
}

/** An empty outbox, to be iterated once. */
export function createOutbox<T>(): Outbox<T> {
  const messages: T[] = [];
  let ended = false;
  let changed = Promise.withResolvers<void>();
  const wake = (): void => {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  };
  return {
    push(message) {
      messages.push(message);
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const message = messages.shift();
        if (message !== undefined) yield message;
        else if (ended) return;
        else await changed.promise;
      }
    },
  };
}
