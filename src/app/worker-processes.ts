/**
 * Further worker processes on this machine (setting WORKERS). They are started, watched, restarted when they die, and stopped
 * with the program. They share its database and its secret; their log lines appear in its log.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Settings } from '../config/settings.ts';
import type { Installation } from '../domain/context.ts';
import type { Log } from '../lib/log.ts';

/** Environment variable with the number of such a process. */
const WORKER_NUMBER = 'MAILWRIGHT_WORKER_NUMBER';

const MAIN = path.join(import.meta.dirname, '..', 'main.ts');
const RESTART_MS_MIN = 1_000;
/** A process that cannot start is tried again without end, with growing delays up to this. */
const RESTART_MS_MAX = 30_000;
/** A process that ran this long did not fail at its start. */
const SETTLED_MS = 60_000;

export interface WorkerProcesses {
  /** How many there should be, and how many run now. */
  readonly wanted: number;
  running(): number;
  /** Asks all to stop at the same time as this process, fast when this process stops fast. */
  beginStop(graceMs: number): void;
  /** Resolves when all have ended. */
  stop(): Promise<void>;
}

interface SpawnOptions {
  readonly settings: Settings;
  readonly databaseUrl: string;
  readonly installation: Pick<Installation, 'baseUrl' | 'secret'>;
  readonly log: Log;
}

/** Which of these processes this one is; undefined: it is the program itself. */
export function workerNumber(): number | undefined {
  const text = process.env[WORKER_NUMBER];
  return text === undefined ? undefined : Number(text);
}

/** How many processes work besides the program itself: none for 1, one per core beyond the first for `auto`. */
function furtherWorkers(workers: Settings['WORKERS'], cores: number): number {
  return Math.max(0, (workers === 'auto' ? cores : workers) - 1);
}

/** Starts them, if this process is a worker. Does not wait until they are ready. */
export function startWorkerProcesses(options: SpawnOptions): WorkerProcesses {
  const { settings } = options;
  const fullGraceMs = settings.STOP_GRACE_SECONDS * 1_000;
  const isParent = settings.ROLES.includes('worker') && workerNumber() === undefined;
  const wanted = isParent ? furtherWorkers(settings.WORKERS, availableParallelism()) : 0;
  const workers = Array.from({ length: wanted }, (_, index) => new WorkerProcess(index + 2, options));
  return {
    wanted,
    running: () => workers.filter((worker) => worker.isRunning).length,
    beginStop: (graceMs) =>
      // The signal that means the same grace: SIGINT is the fast one (shutdown.ts).
      workers.forEach((worker) => worker.beginStop(graceMs < fullGraceMs ? 'SIGINT' : 'SIGTERM')),
    stop: async () => void (await Promise.all(workers.map((worker) => worker.stop()))),
  };
}

class WorkerProcess {
  readonly #number: number;
  readonly #options: SpawnOptions;
  #child: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  #waitMs = RESTART_MS_MIN;
  #isStopping = false;

  constructor(number: number, options: SpawnOptions) {
    this.#number = number;
    this.#options = options;
    this.#start();
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  beginStop(signal: 'SIGINT' | 'SIGTERM'): void {
    this.#isStopping = true;
    clearTimeout(this.#restart);
    this.#child?.kill(signal);
  }

  async stop(): Promise<void> {
    // The start failed before anybody asked to stop; nobody waits for their work.
    if (!this.#isStopping) this.beginStop('SIGINT');
    if (this.#child) await once(this.#child, 'close');
  }

  #start(): void {
    const { log } = this.#options;
    const startedAt = performance.now();
    const child = spawn(process.execPath, [...process.execArgv, MAIN], {
      env: { ...process.env, ...environment(this.#number, this.#options) },
      // A process group of its own: Ctrl-C reaches the program, which passes it on once.
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child = child;
    log.info('workers.started', { worker: this.#number, pid: child.pid });
    const lines = child.stderr ? createInterface({ input: child.stderr }) : undefined;
    lines?.on('line', (line) => process.stderr.write(`${line}\n`));
    child.on('error', (error) => log.warn('workers.cannot_start', { worker: this.#number, message: error.message }));
    child.on('close', (code, signal) => {
      this.#child = undefined;
      if (this.#isStopping) return;
      if (performance.now() - startedAt > SETTLED_MS) this.#waitMs = RESTART_MS_MIN;
      log.warn('workers.died', { worker: this.#number, code, signal, restartInMs: this.#waitMs });
      this.#restart = setTimeout(() => this.#start(), this.#waitMs);
      this.#waitMs = Math.min(RESTART_MS_MAX, this.#waitMs * 2);
    });
  }
}

function environment(number: number, { settings, databaseUrl, installation }: SpawnOptions): Record<string, string> {
  return {
    ROLES: 'worker',
    WORKERS: '1',
    DATABASE_URL: databaseUrl,
    APP_SECRET: installation.secret,
    // With PORT=0 only this process knows the port.
    BASE_URL: installation.baseUrl,
    [WORKER_NUMBER]: String(number),
    // Its log goes into ours, because only this process knows whether the log is on a terminal.
    LOG_FORMAT: settings.LOG_FORMAT === 'auto' && process.stderr.isTTY ? 'pretty' : settings.LOG_FORMAT,
  };
}
