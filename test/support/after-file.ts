/**
 * What has to be put away after a file's last test, wherever it was made: vitest forgets an `afterAll` that is called
 * while a test or a hook runs, and processes and servers would stay.
 */
import { afterAll } from 'vitest';

const made = new AsyncDisposableStack();
// The first hook that a file has is the last that runs: what the file closes itself is closed by then.
afterAll(() => made.disposeAsync());

/** Last in, first out; one that fails does not keep the others. */
export function afterFile(close: () => unknown): void {
  made.defer(async () => void (await close()));
}
