/**
 * What has to be put away after a file's last test, wherever it was made: vitest forgets an `afterAll` that is called
 * while a test or a hook runs, and processes and servers would stay.
 */

/** Of the file that runs: a process runs one file after the other. */
let made = new AsyncDisposableStack();

/** Last in, first out; one that fails does not keep the others. */
export function afterFile(close: () => unknown): void {
  made.defer(async () => void (await close()));
}

/** For `each-file.ts`: puts away what the file that ends has made. */
export async function closeMade(): Promise<void> {
  const ended = made;
  made = new AsyncDisposableStack();
  await ended.disposeAsync();
}
