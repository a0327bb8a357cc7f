/** A process of the product that only works: it serves nobody, and says on its output when it is ready. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export interface WorkerProcess {
  kill(): Promise<void>;
  stop(): Promise<void>;
  /** The exit code, once it has ended by itself or was killed. */
  readonly ended: Promise<number | null>;
}

const MAIN = path.resolve(import.meta.dirname, '../../src/program.ts');

/** Starts it and waits until it works, or has ended: some are made to end early. */
export async function startWorkerProcess(
  databaseUrl: string,
  settings: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
): Promise<WorkerProcess> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'mailwright-chaos-'));
  const child = spawn(process.execPath, [...nodeOptions, '--max-semi-space-size=8', MAIN], {
    env: {
      ...{ PATH: process.env['PATH'], HOME: process.env['HOME'], DATABASE_URL: databaseUrl, DATA_DIR: dataDir },
      ...{
        MALLOC_ARENA_MAX: '1',
        MALLOC_TRIM_THRESHOLD_: '131072',
        ROLES: 'worker,cron',
        APP_SECRET: 'bench'.repeat(10),
        INBOX: 'off',
        LOG_FORMAT: 'json',
        ...settings,
      },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit').then(([code]) => {
    rmSync(dataDir, { recursive: true, force: true });
    return typeof code === 'number' ? code : null;
  });
  const working = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => chunk.includes('is running') && resolve());
  });
  const early = await Promise.race([working.then(() => undefined), ended.then((code) => ({ code }))]);
  if (early && nodeOptions.length === 0) throw new Error(`The worker ended with code ${early.code} before it worked.`);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await ended;
  };
  return { ended, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') };
}
