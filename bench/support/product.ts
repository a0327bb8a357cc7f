/** The product as a process of its own, on a durable database, driven from outside over HTTP. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../src/db/free-port.ts';

export const BENCH_TOKEN = 'B'.repeat(60);
/** What secrets of this installation are encrypted with. */
export const BENCH_SECRET = 'bench'.repeat(10);
const MAIN = path.resolve(import.meta.dirname, '../../src/program.ts');

/** With PROFILE=<folder> each product writes a profile of its processor time into that folder when it stops. */
const PROFILE = process.env['PROFILE'] ? ['--cpu-prof', `--cpu-prof-dir=${process.env['PROFILE']}`] : [];

/** Three minutes: a bench may be the last in line on its machine. */
const READY_TRIES_MAX = 3_600;

export interface Product {
  readonly url: string;
  readonly pid: number;
  rest<Answer>(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Processor seconds used so far, user and system. */
  cpuSeconds(): number;
  /** Largest resident memory since the start or `resetPeakMemory`, in megabytes. */
  peakMegabytes(): number;
  resetPeakMemory(): void;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the product on the database at `databaseUrl` and waits until it is ready. */
export async function startProduct(
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Product> {
  const port = await freePort();
  const dataDir = mkdtempSync(path.join(tmpdir(), 'mailwright-bench-'));
  // As `npm start` does.
  const child = spawn(process.execPath, [...PROFILE, '--max-semi-space-size=8', MAIN], {
    env: {
      ...{
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        PORT: String(port),
        DATA_DIR: dataDir,
        DATABASE_URL: databaseUrl,
        MALLOC_ARENA_MAX: '1',
        MALLOC_TRIM_THRESHOLD_: '131072',
      },
      ...{ ADMIN_API_TOKEN: BENCH_TOKEN, APP_SECRET: BENCH_SECRET, INBOX: 'off', LOG_LEVEL: 'warn', ...settings },
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const gone = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  await untilReady(url, child).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await gone;
    rmSync(dataDir, { recursive: true, force: true });
  };
  return {
    url,
    pid: child.pid ?? 0,
    rest: (method, route, body) => rest(url, { method, route, body }),
    cpuSeconds: () => cpuSecondsOf(child.pid ?? 0),
    peakMegabytes: () =>
      Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1_024,
    // proc(5): 5 sets the high-water mark back.
    resetPeakMemory: () => writeFileSync(`/proc/${child.pid}/clear_refs`, '5'),
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  };
}

async function rest<Answer>(
  url: string,
  { method, route, body }: { method: string; route: string; body: unknown },
): Promise<Answer> {
  const answer = await fetch(`${url}/api/v1${route}`, {
    method,
    headers: { authorization: `Bearer ${BENCH_TOKEN}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${route} answered ${answer.status}: ${text}`);
  return JSON.parse(text);
}

async function untilReady(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < READY_TRIES_MAX; tries++) {
    if (child.exitCode !== null) throw new Error(`The product ended with code ${child.exitCode}.`);
    const isReady = await fetch(`${url}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (isReady) return;
    await sleep(50);
  }
  throw new Error('The product does not get ready.');
}

/** Processor time of a process: fields 14 and 15 of /proc/<pid>/stat, in hundredths of a second. */
export function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
