/**
 * When to stop: SIGINT and SIGTERM once, gracefully; a second one, given on purpose, at once.
 */
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';

/** A terminal's Ctrl-C reaches the process twice, directly and through npm; only a later one is meant as "now". */
const SECOND_SIGNAL_MS_MIN = 1_000;
/** Ctrl-C must end within ten seconds: SMTP dialogues get this long, the rest is for the database. */
const CTRL_C_GRACE_MS = 7_000;
/** After the grace: a part that hangs must not keep the operator waiting. The database is safe at any moment. */
const STOP_MS_MAX = 8_000;

interface StopOptions {
  readonly log: Log;
  /** How long SIGTERM waits for messages in flight. */
  readonly graceMs: number;
  readonly stop: (graceMs: number) => Promise<void>;
  /** Called when somebody has asked. */
  readonly onStopping: () => void;
}

/** Resolves when the program was asked to stop and `stop` has finished; sets the exit code. */
export function waitForStop({ log, graceMs, stop, onStopping }: StopOptions): Promise<void> {
  return new Promise((resolve) => {
    let requestedAt = 0;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (requestedAt > 0) {
        if (performance.now() - requestedAt > SECOND_SIGNAL_MS_MIN) process.exit(130);
        return;
      }
      requestedAt = performance.now();
      log.info('app.stopping', { signal });
      onStopping();
      const waitMs = signal === 'SIGINT' ? Math.min(CTRL_C_GRACE_MS, graceMs) : graceMs;
      setTimeout(() => {
        log.error('app.stop_timed_out', { ms: waitMs + STOP_MS_MAX });
        process.exit(1);
      }, waitMs + STOP_MS_MAX).unref();
      stop(waitMs).then(
        () => {
          log.info('app.stopped', { ms: Math.round(performance.now() - requestedAt) });
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
    // A worker process ends when the program that started it has ended, for whatever reason.
    if (process.channel) process.on('disconnect', () => onSignal('SIGTERM'));
  });
}
