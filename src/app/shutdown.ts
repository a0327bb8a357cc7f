/**
 * When to stop: SIGINT and SIGTERM once, gracefully; a second one, given on purpose, at once.
 */
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';

/** A terminal's Ctrl-C reaches the process twice, directly and through npm; only a later one is meant as "now". */
const SECOND_SIGNAL_MS_MIN = 1_000;
/** Whatever hangs must not keep an operator waiting; the database is safe at any moment. */
const STOP_MS_MAX = 15_000;

/** Resolves when the program was asked to stop and `stop` has done so; sets the exit code. */
export function waitForStop(log: Log, stop: () => Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    let askedAt = 0;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (askedAt > 0) {
        if (performance.now() - askedAt > SECOND_SIGNAL_MS_MIN) process.exit(130);
        return;
      }
      askedAt = performance.now();
      log.info('app.stopping', { signal });
      setTimeout(() => {
        log.error('app.stop_timed_out', { ms: STOP_MS_MAX });
        process.exit(1);
      }, STOP_MS_MAX).unref();
      stop().then(
        () => {
          log.info('app.stopped', { ms: Math.round(performance.now() - askedAt) });
          resolve();
          process.exit(0);
        },
        (error: unknown) => {
          log.error('app.stop_failed', { message: messageOf(error) });
          process.exit(1);
        },
      );
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}
