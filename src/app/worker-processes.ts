/**
 * Further worker processes on this machine (setting WORKERS). They are started, watched, restarted when they die, and stopped
 * with the program. They share its database and its secret; their log lines appear in its log.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Settings } from '../config/settings.ts';
import type { Context } from '../domain/context.ts';
import { messageOf } from '../lib/errors.ts';
import { NOTE_FILE, ProcessEnds, takeEnd } from '../parent/process-end.ts';
import { recordProcessEnds } from './parent-link.ts';

/** Environment variable with the number of such a process. */
const WORKER_NUMBER = 'MAILWRIGHT_WORKER_NUMBER';

const PROGRAM = path.join(import.meta.dirname, '..', 'program.ts');

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
  readonly ctx: Context;
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
  const notes = wanted > 0 ? mkdtempSync(path.join(tmpdir(), 'mailwright-workers-')) : '';
  const workers = Array.from({ length: wanted }, (_, index) => new WorkerProcess(index + 2, { ...options, notes }));
  return {
    wanted,
    running: () => workers.filter((worker) => worker.isRunning).length,
    beginStop: (graceMs) =>
      // The signal that means the same grace: SIGINT is the fast one (shutdown.ts).
      workers.forEach((worker) => worker.beginStop(graceMs < fullGraceMs ? 'SIGINT' : 'SIGTERM')),
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()));
      if (notes !== '') rmSync(notes, { recursive: true, force: true });
    },
  };
}

class WorkerProcess {
  readonly #number: number;
  readonly #options: SpawnOptions;
  #child: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  readonly #noteFile: string;
  readonly #ends = new ProcessEnds();
  #isStopping = false;

  constructor(number: number, options: SpawnOptions & { readonly notes: string }) {
    this.#number = number;
    this.#options = options;
    this.#noteFile = path.join(options.notes, `${number}.json`);
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
    const { log } = this.#options.ctx;
    const child = spawn(process.execPath, [...process.execArgv, PROGRAM], {
      env: { ...process.env, ...environment(this.#number, this.#options), [NOTE_FILE]: this.#noteFile },
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
      if (!this.#isStopping) void this.#ended({ code, signal });
    });
  }

  /** Starts it again when its end is recorded: a plugin that has caused it may be switched off then. */
  async #ended(by: { code: number | null; signal: NodeJS.Signals | null }): Promise<void> {
    const { ctx } = this.#options;
    this.#ends.add(takeEnd(this.#noteFile, by));
    const restartInMs = this.#ends.restartDelayMs();
    ctx.log.warn('workers.died', { worker: this.#number, ...by, restartInMs });
    try {
      this.#ends.recorded({ isDealtWith: await recordProcessEnds(ctx, this.#ends.recent()) });
    } catch (error) {
      ctx.log.warn('workers.end_not_recorded', { worker: this.#number, message: messageOf(error) });
    }
    if (!this.#isStopping) this.#restart = setTimeout(() => this.#start(), restartInMs);
  }
}

function environment(number: number, { settings, databaseUrl, ctx }: SpawnOptions): Record<string, string> {
  const { installation } = ctx;
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
