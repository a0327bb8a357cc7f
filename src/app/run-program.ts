/** Runs the program: reads settings, starts the app for its roles, waits, stops. */
import { flushCompileCache } from 'node:module';
import { ConfigError, loadConfig } from '../config/load-config.ts';
import type { Settings } from '../config/settings.ts';
import type { Log } from '../lib/log.ts';
import { NOTE_FILE } from '../parent/process-end.ts';
import { watchPlugins } from '../plugin-host/watch-plugins.ts';
import { createAppLog, formatOf } from './app-log.ts';
import { printBanner, printCredentials } from './banner.ts';
import { endUpgrade } from './open-releases.ts';
import { takeParentLink, type ParentLink } from './parent-link.ts';
import { waitForStop } from './shutdown.ts';
import { startApp } from './start-app.ts';
import { workerNumber } from './worker-processes.ts';

/** Runs the program until it is asked to stop. If it cannot start, it prints why and sets the exit code. */
export async function runProgram(): Promise<void> {
  const parent = takeParentLink();
  try {
    await run(takeSettings(), parent);
  } catch (error) {
    // Every fault of the settings is in the message; a stack would only hide them.
    console.error(error instanceof ConfigError ? error.message : `Mailwright could not start. ${explain(error)}`);
    process.exitCode = 1;
    await parent?.report({ kind: 'failed' });
    if (parent) process.exit();
  }
}

/** Passwords and keys. Plugins, and programs that they start, must not find them by accident. */
const SECRETS = ['APP_SECRET', 'DATABASE_URL', 'ADMIN_PASSWORD', 'ADMIN_API_TOKEN'] as const;

/** Reads the settings, and removes secrets from the environment: further processes get theirs from this one. */
function takeSettings(): Settings {
  const settings = loadConfig(process.env);
  for (const name of SECRETS) delete process.env[name];
  return settings;
}

async function run(settings: Settings, parent: ParentLink | undefined): Promise<void> {
  const worker = workerNumber();
  const log = worker === undefined ? createAppLog(settings) : createAppLog(settings).with({ worker });
  const faults = watch(settings, log);
  const starting = startApp(settings, log, { show: printCredentials, parent, faults });
  const stopped = waitForStop({
    log,
    graceMs: settings.STOP_GRACE_SECONDS * 1_000,
    // If asked to stop during the start, it stops again what has been started.
    stop: (graceMs) => starting.then((app) => app.stop(graceMs)),
    onStopping: () => void parent?.report({ kind: 'stopping' }),
  });
  const app = await starting;
  printBanner(app, performance.now());
  if (worker !== undefined) log.info('app.working');
  await parent?.report({ kind: 'ready', port: app.port });
  await endUpgrade(app.ctx);
  // Now, and not at the end: the process may be killed, and further processes start meanwhile.
  flushCompileCache();
  await stopped;
}

function watch(settings: Settings, log: Log) {
  const { [NOTE_FILE]: noteFile } = process.env;
  delete process.env[NOTE_FILE];
  return watchPlugins({ log, level: settings.LOG_LEVEL, format: formatOf(settings), noteFile });
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return process.env['LOG_LEVEL'] === 'debug' ? (error.stack ?? error.message) : error.message;
}
