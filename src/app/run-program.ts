/** A run of the program: settings, then the app for the asked roles, then wait, then stop. */
import { flushCompileCache } from 'node:module';
import { ConfigError, loadConfig } from '../config/load-config.ts';
import { createAppLog } from './app-log.ts';
import { printBanner, printCredentials } from './banner.ts';
import { waitForStop } from './shutdown.ts';
import { startApp } from './start-app.ts';
import { workerNumber } from './worker-processes.ts';

/** Runs it until it was asked to stop. What is wrong with its start is said in a sentence, and is the exit code. */
export async function runProgram(): Promise<void> {
  try {
    const settings = loadConfig(process.env);
    const worker = workerNumber();
    const log = worker === undefined ? createAppLog(settings) : createAppLog(settings).with({ worker });
    const starting = startApp(settings, log, printCredentials);
    // Asked to stop while still starting: what comes up is taken down again.
    const stop = (graceMs: number) => starting.then((app) => app.stop(graceMs));
    const stopped = waitForStop({ log, graceMs: settings.STOP_GRACE_SECONDS * 1_000, stop });
    printBanner(await starting, performance.now());
    if (worker !== undefined) log.info('app.working');
    // Now, and not when it ends: that may be by a kill, and further processes start meanwhile.
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
