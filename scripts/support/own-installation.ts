/** Starts a Mailwright beside the operator's own: its own data, free ports, the embedded database, and none of the operator's settings. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface OwnInstallation {
  readonly url: string;
  readonly process: ChildProcess;
  /** Resolves when it has ended, by itself or by `stop`. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

interface OwnInstallationOptions {
  readonly dataDir: string;
  readonly token: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Gets what it prints and logs. */
  readonly onOutput: (chunk: Buffer) => void;
  /** Called with the process at once, so that it can be stopped during the start. */
  readonly onStart?: (stop: () => Promise<void>) => void;
}

const ROOT = path.resolve(import.meta.dirname, '../..');
/** The first start makes a database, which is slow on a slow disk. */
const START_MS_MAX = 300_000;
/** Longer than the program gives itself (STOP_GRACE_SECONDS): who kills it leaves its database running. */
const STOP_MS_MAX = 120_000;
/** Environment variables that the program needs; settings such as DATABASE_URL must not reach it. */
const PASSED_ON = ['PATH', 'HOME', 'USER', 'TMPDIR', 'TZ', 'LANG'];

/** Starts it and waits until it is ready. Throws an Error with its output when it does not start. */
export async function startOwnInstallation(options: OwnInstallationOptions): Promise<OwnInstallation> {
  const { dataDir, token, settings, onOutput, onStart } = options;
  const passedOn = Object.fromEntries(PASSED_ON.map((name) => [name, process.env[name]]));
  const own = { PORT: '0', INBOX: 'on', INBOX_SMTP_PORT: '0', DATA_DIR: dataDir, ADMIN_API_TOKEN: token };
  const child = spawn(process.execPath, [path.join(ROOT, 'src/main.ts')], {
    cwd: ROOT,
    env: { ...passedOn, ...own, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit').then(() => undefined);
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
    await ended;
    clearTimeout(timer);
  };
  onStart?.(stop);
  child.stdout.on('data', onOutput);
  child.stderr.on('data', onOutput);
  return { url: await readyUrl(child), process: child, ended, stop };
}

async function readyUrl(child: ChildProcess): Promise<string> {
  let output = '';
  const collect = (chunk: Buffer): void => void (output += chunk.toString());
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  const deadline = performance.now() + START_MS_MAX;
  try {
    for (;;) {
      const url = /is ready at (\S+)/.exec(output)?.[1];
      if (url !== undefined) return url;
      if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadline) {
        child.kill('SIGKILL');
        throw new Error(`Mailwright did not start.\n${output.trim()}`);
      }
      await sleep(50);
    }
  } finally {
    child.stdout?.off('data', collect);
    child.stderr?.off('data', collect);
  }
}
