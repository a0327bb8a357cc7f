/** Runs the program: reads settings, starts the app for its roles, waits, stops. */
import { flushCompileCache } from 'node:module';
import { ConfigError, loadConfig } from '../config/load-config.ts';
import { createAppLog } from './app-log.ts';
import { printBanner, printCredentials } from './banner.ts';
import { waitForStop } from './shutdown.ts';
import { startApp } from './start-app.ts';
import { workerNumber } from './worker-processes.ts';

/** Runs the program until it is asked to stop. If it cannot start, it prints why and sets the exit code. */
export async function runProgram(): Promise<void> {
  try {
    const settings = loadConfig(process.env);
    const worker = workerNumber();
    const log = worker === undefined ? createAppLog(settings) : createAppLog(settings).with({ worker });
    const starting = startApp(settings, log, printCredentials);
    // If asked to stop during the start, it stops again what has been started.
    const stop = (graceMs: number) => starting.then((app) => app.stop(graceMs));
    const stopped = waitForStop({ log, graceMs: settings.STOP_GRACE_SECONDS * 1_000, stop });
    printBanner(await starting, performance.now());
    if (worker !== undefined) log.info('app.working');
    // Now, and not at the end: the process may be killed, and further processes start meanwhile.
    flushCompileCache();
    await stopped;
  } catch (error) {
    // Every fault of the settings is in the message; a stack would only hide them.
    console.error(error instanceof ConfigError ? error.message : `Mailwright could not start. ${explain(error)}`);
    process.exitCode = 1;
  }
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return process.env['LOG_LEVEL'] === 'debug' ? (error.stack ?? error.message) : error.message;
}
