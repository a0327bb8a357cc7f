/**
 * The program in a process of its own, with settings, that can be killed: src/program.ts, as its parent process starts it. `startWithParent`
 * runs what `npm start` runs.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { afterFile } from './after-file.ts';
import { OBSERVED } from './check-statements.ts';
import { testInstallation } from './test-context.ts';

export interface Program {
  readonly baseUrl: string;
  readonly token: string;
  readonly process: ChildProcess;
  /** Everything it printed and logged so far. */
  output(): string;
  /** kill -9. */
  kill(): Promise<void>;
  /** SIGTERM, or the signal given; answers the exit code and how long it took. */
  stop(signal?: 'SIGINT'): Promise<{ code: number | null; ms: number }>;
}

export const PROGRAM_TOKEN = 'T'.repeat(60);
const READY_TIMEOUT_MS = 240_000;
const SOURCES = path.resolve(import.meta.dirname, '../../src');

/** Starts it with its parent process; `process` is the parent. */
export function startWithParent(settings: Readonly<Record<string, string>>): Promise<Program> {
  return startProgram(settings, path.join(SOURCES, 'main.ts'));
}

/** Starts the program, or the one at `main`, on the database given and waits until it says that it is ready. */
export async function startProgram(
  settings: Readonly<Record<string, string>>,
  main = path.join(SOURCES, 'program.ts'),
): Promise<Program> {
  const port = await freePort();
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'mailwright-program-'));
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      PORT: String(port),
      DATA_DIR: dataDir,
      APP_SECRET: testInstallation.secret,
      ADMIN_API_TOKEN: PROGRAM_TOKEN,
      ADMIN_PASSWORD: 'correct horse battery',
      INBOX: 'off',
      LOG_FORMAT: 'json',
      ...OBSERVED,
      ...settings,
    },
  });
  const lines: string[] = [];
  child.stdout.on('data', (chunk: Buffer) => lines.push(chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => lines.push(chunk.toString()));
  const gone = once(child, 'exit');
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await gone;
  };
  // Also when the run is cut short: nobody else knows this process.
  const endWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', endWithUs);
  void gone.then(() => process.off('exit', endWithUs));
  afterFile(async () => {
    await end('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  });
  await untilReady(child, lines);
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    token: settings['ADMIN_API_TOKEN'] ?? PROGRAM_TOKEN,
    process: child,
    output: () => lines.join(''),
    kill: () => end('SIGKILL'),
    async stop(signal) {
      const startedAt = performance.now();
      await end(signal ?? 'SIGTERM');
      return { code: child.exitCode, ms: performance.now() - startedAt };
    },
  };
}

async function untilReady(child: ChildProcess, lines: readonly string[]): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (!/Mailwright .*(is ready|is running)/.test(lines.join(''))) {
    if (child.exitCode !== null || performance.now() > deadline)
      throw new Error(`The program did not start:\n${lines.join('')}`);
    await sleep(25);
  }
}
