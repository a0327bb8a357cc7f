/** Runs the work of a script that Ctrl-C or SIGTERM cancels: what was begun is undone, and the exit code says so. */
import { messageOf } from '../../src/lib/errors.ts';

/** As shells do: 128 and the number of SIGINT. */
const CANCELLED = 130;

/** A failed work is one sentence on standard error and exit code 1. */
export async function runCancellable(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const cancel = new AbortController();
  const abort = (): void => cancel.abort(new Error('Cancelled.'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, abort);
  try {
    await work(cancel.signal);
  } catch (error) {
    console.error(cancel.signal.aborted ? 'Cancelled. Nothing was changed.' : messageOf(error));
    process.exitCode = cancel.signal.aborted ? CANCELLED : 1;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, abort);
  }
}
