/** Ends what is read. */
export type End = (error: Error) => void;

/** Returns the same messages, and what makes the next one an error. */
export function endable<T>(messages: AsyncIterable<T>): { readonly message: AsyncIterable<T>; readonly end: End } {
  let ended: Error | undefined;
  let reject: End | undefined;
  const message: AsyncIterable<T> = {
    [Symbol.asyncIterator]() {
      const inner = messages[Symbol.asyncIterator]();
      return {
        next: () =>
          new Promise((resolve, fail) => {
            reject = fail;
            if (ended !== undefined) fail(ended);
            else inner.next().then(resolve, fail);
          }),
        throw: (reason: unknown) => inner.throw?.(reason) ?? Promise.reject(reason),
        return: (value: unknown) => inner.return?.(value) ?? Promise.resolve({ done: true, value }),
      };
    },
  };
  return {
    message,
    end(error) {
      ended = error;
      reject?.(error);
    },
  };
}
