/** The program: settings, then the app for the asked roles, then wait, then stop. */
import { createAppLog } from './app/app-log.ts';
import { printBanner, printCredentials } from './app/banner.ts';
import { startApp } from './app/start-app.ts';
import { waitForStop } from './app/shutdown.ts';
import { workerNumber } from './app/worker-processes.ts';
import { ConfigError, loadConfig } from './config/load-config.ts';

const startedAt = performance.now();

try {
  const settings = loadConfig(process.env);
  const worker = workerNumber();
  const log = worker === undefined ? createAppLog(settings) : createAppLog(settings).with({ worker });
  const starting = startApp(settings, log, printCredentials);
  // Asked to stop while still starting: what comes up is taken down again.
  const stop = (graceMs: number) => starting.then((app) => app.stop(graceMs));
  const stopped = waitForStop({ log, graceMs: settings.STOP_GRACE_SECONDS * 1_000, stop });
  printBanner(await starting, performance.now() - startedAt);
  if (worker !== undefined) log.info('app.working');
  await stopped;
} catch (error) {
  // Every fault of the settings is in the message; a stack would only hide them.
  console.error(error instanceof ConfigError ? error.message : `Mailwright could not start. ${explain(error)}`);
  process.exitCode = 1;
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return process.env['LOG_LEVEL'] === 'debug' ? (error.stack ?? error.message) : error.message;
}
