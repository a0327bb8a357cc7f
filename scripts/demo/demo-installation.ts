/** A Mailwright for the demo: its own data, free ports, the embedded database, never the operator's settings. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DemoError } from './demo-error.ts';

export interface DemoInstallation {
  readonly url: string;
  readonly token: string;
  /** Resolves when it has ended, by itself or by `stop`. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

const ROOT = path.resolve(import.meta.dirname, '../..');
/** The first start makes a database, which is slow on a slow disk. */
const START_MS_MAX = 120_000;
/** 60 letters and digits, like all tokens. */
const TOKEN_BYTES = 30;
/** Environment variables that the program needs; settings such as DATABASE_URL must not reach it. */
const PASSED_ON = ['PATH', 'HOME', 'USER', 'TMPDIR', 'TZ', 'LANG'];

/**
 * Starts it and waits until it is ready. From now on Ctrl-C ends it and then this program. Throws DemoError with its output when
 * it does not start.
 */
export async function startDemoInstallation(dataDir: string, onSignal: () => void): Promise<DemoInstallation> {
  const token = keptToken(dataDir);
  const passedOn = Object.fromEntries(PASSED_ON.map((name) => [name, process.env[name]]));
  const settings = {
    PORT: '0',
    INBOX: 'on',
    INBOX_SMTP_PORT: '0',
    DATA_DIR: dataDir,
    ADMIN_API_TOKEN: token,
    LOG_LEVEL: 'warn',
  };
  const child = spawn(process.execPath, [path.join(ROOT, 'src/main.ts')], {
    cwd: ROOT,
    env: { ...passedOn, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit').then(() => undefined);
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await ended;
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      onSignal();
      void stop().finally(() => process.exit());
    });
  }
  return { url: await readyUrl(child), token, ended, stop };
}

/** The token counts on the first start only, so it is kept for the next demo. */
function keptToken(dataDir: string): string {
  const file = path.join(dataDir, 'demo-token');
  if (!existsSync(file)) {
    mkdirSync(dataDir, { recursive: true });
    writeFileSync(file, `${randomBytes(TOKEN_BYTES).toString('hex')}\n`, { mode: 0o600 });
  }
  return readFileSync(file, 'utf8').trim();
}

async function readyUrl(child: ChildProcess): Promise<string> {
  let output = '';
  const collect = (chunk: Buffer): void => void (output += chunk.toString());
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  const deadline = performance.now() + START_MS_MAX;
  for (;;) {
    const url = /is ready at (\S+)/.exec(output)?.[1];
    if (url !== undefined) break;
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill('SIGKILL');
      throw new DemoError(`Mailwright did not start. (Another place for its data: --data-dir <dir>)\n${output.trim()}`);
    }
    await sleep(50);
  }
  // From here on its warnings are shown.
  child.stderr?.off('data', collect).pipe(process.stderr);
  return /is ready at (\S+)/.exec(output)?.[1] ?? '';
}
