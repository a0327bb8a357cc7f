/**
 * The parent process: it starts the program, starts it again when it has ended without being asked to, keeps the embedded database meanwhile,
 * and passes signals on. It has no code of the product, so that whatever ends the program does not end this.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import path from 'node:path';
import type { EmbeddedDatabase } from '../db/embedded.ts';
import { currentRelease, endTrial, isOnTrial, leaveRelease } from '../lib/current-release.ts';
import { HAS_PARENT, LAST_ENDS, type ToParent, type ToProgram } from './messages.ts';
import { NOTE_FILE, ProcessEnds, takeEnd } from './process-end.ts';

/** A terminal's Ctrl-C reaches this process twice, directly and through npm; only a later one is meant as "now". */
const SECOND_SIGNAL_MS_MIN = 1_000;
/** A program that has worked and now cannot start, because its database is away, tries again after twice this, and doubles it. */
const FAILED_MS_MIN = 500;
const FAILED_MS_MAX = 30_000;
/** Ends of a program that has never worked: three faults each of three plugins. Then it will never work. */
const STARTS_MAX = 9;
/** A new version that does not work after this time hangs. A start takes seconds; the database may have to recover before. */
const TRIAL_MS_MAX = 180_000;
/** As a shell does it. */
const SIGNAL_CODE_BASE = 128;

/**
 * Keeps the program in this file running until somebody asks to stop; then this process ends with the program's exit code. `trialMsMax`: how
 * long a new version may take to start.
 */
export async function keepProgram(file: string, { trialMsMax = TRIAL_MS_MAX } = {}): Promise<void> {
  await new Keeper(file, trialMsMax).run();
}

function dataDir(): string {
  return path.resolve(process.env['DATA_DIR'] ?? 'data');
}

class Keeper {
  readonly #file: string;
  readonly #trialMsMax: number;
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'mailwright-parent-'));
  readonly #ends = new ProcessEnds();
  #database: Promise<EmbeddedDatabase> | undefined;
  #child: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  #port: number | undefined;
  #hasWorked = false;
  #hasFailed = false;
  #failedDelayMs = FAILED_MS_MIN;
  #isStopping = false;
  /** It ends so that another version starts. */
  #isReplacing = false;
  /** The version that was started has not worked yet: ends it when its time is over. */
  #trial: NodeJS.Timeout | undefined;
  #isTooLate = false;
  /** When the first signal came. */
  #signalledAt: number | undefined;
  #isPassed = false;
  #end: (code: number) => void = () => undefined;

  constructor(file: string, trialMsMax: number) {
    this.#file = file;
    this.#trialMsMax = trialMsMax;
  }

  async run(): Promise<void> {
    const ended = new Promise<number>((resolve) => {
      this.#end = resolve;
    });
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => this.#pass(signal));
    process.on('exit', () => rmSync(this.#folder, { recursive: true, force: true }));
    this.#start();
    const code = await ended;
    const database = await this.#database?.catch(() => undefined);
    await database?.stop();
    process.exit(code);
  }

  #start(): void {
    this.#hasFailed = false;
    const noteFile = path.join(this.#folder, 'note.json');
    const ends = this.#ends.recent();
    const release = currentRelease(dataDir(), path.resolve(path.dirname(this.#file), '..'));
    const file = path.join(release, 'src', path.basename(this.#file));
    const child = spawn(process.execPath, [...process.execArgv, file], {
      env: {
        ...process.env,
        ...(this.#port === undefined ? {} : { PORT: String(this.#port) }),
        [HAS_PARENT]: '1',
        [NOTE_FILE]: noteFile,
        [LAST_ENDS]: JSON.stringify(ends),
      },
      // A process group of its own: Ctrl-C reaches this process, which passes it on once.
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child = child;
    if (isOnTrial(dataDir(), release)) this.#trial = setTimeout(() => this.#endHanging(child), this.#trialMsMax);
    child.on('message', (message: ToParent) => this.#onMessage(child, message));
    child.on('error', (error) => this.#onError(child, error));
    // What it has told arrives before the channel closes, but maybe after its end.
    let end: { code: number | null; signal: NodeJS.Signals | null } | undefined;
    const onEnd = () => {
      if (!end || child.connected) return;
      this.#child = undefined;
      this.#ended(end, noteFile);
    };
    child.once('exit', (code, signal) => {
      end = { code, signal };
      onEnd();
    });
    child.once('disconnect', onEnd);
  }

  /** A signal or a message that has not reached a program that runs, or has just ended, changes nothing. */
  #onError(child: ChildProcess, error: Error): void {
    if (child.pid !== undefined) return console.error(`Mailwright's parent process: ${error.message}`);
    console.error(`Mailwright cannot be started: ${error.message}`);
    this.#child = undefined;
    if (!this.#hasWorked) return this.#end(1);
    // The machine has no room for another process now.
    this.#startIn((this.#failedDelayMs = Math.min(FAILED_MS_MAX, this.#failedDelayMs * 2)));
  }

  #ended(by: { code: number | null; signal: NodeJS.Signals | null }, noteFile: string): void {
    const end = takeEnd(noteFile, by);
    const isFailedStart = this.#hasFailed && !end.note;
    const code = by.code ?? SIGNAL_CODE_BASE + (by.signal ? constants.signals[by.signal] : 0);
    if (this.#trial && !this.#isPassed) return this.#leave(end.by);
    if (this.#isReplacing && !this.#isPassed) return this.#startIn(0);
    // A plugin that has sent the signal itself does not stop the program.
    if (this.#isPassed || (this.#isStopping && !end.note)) return this.#end(code);
    // The first start: what is wrong will not go away by itself, and is said already.
    if (!this.#hasWorked && (isFailedStart || (!end.note && by.code !== null))) return this.#end(code);
    if (isFailedStart) return this.#startIn((this.#failedDelayMs = Math.min(FAILED_MS_MAX, this.#failedDelayMs * 2)));
    this.#ends.add(end);
    if (!this.#hasWorked && this.#ends.recent().length > STARTS_MAX) return this.#end(code);
    this.#startIn(this.#ends.restartDelayMs());
  }

  #endHanging(child: ChildProcess): void {
    this.#isTooLate = true;
    child.kill('SIGKILL');
  }

  /** The new version does not start: the one before comes back. */
  #leave(by: string): void {
    const reason = this.#isTooLate
      ? `It did not work within ${this.#trialMsMax / 1_000} seconds.`
      : `It ended (${by}).`;
    console.error(`The new version of Mailwright did not start. ${reason} The version before is started again.`);
    leaveRelease(dataDir(), reason);
    this.#startIn(0);
  }

  #startIn(delayMs: number): void {
    this.#isStopping = false;
    this.#isReplacing = false;
    this.#isTooLate = false;
    clearTimeout(this.#trial);
    this.#trial = undefined;
    this.#restart = setTimeout(() => this.#start(), delayMs);
  }

  #onMessage(child: ChildProcess, message: ToParent): void {
    if (message.kind === 'database') void this.#giveDatabase(child, message.folder);
    if (message.kind === 'recorded') this.#ends.recorded(message);
    if (message.kind === 'failed') this.#hasFailed = true;
    if (message.kind === 'stopping') this.#isStopping = true;
    if (message.kind === 'replace') this.#isReplacing = true;
    if (message.kind === 'ready') {
      this.#hasWorked = true;
      if (this.#trial) endTrial(dataDir());
      clearTimeout(this.#trial);
      this.#trial = undefined;
      this.#failedDelayMs = FAILED_MS_MIN;
      if (message.port > 0) this.#port = message.port;
    }
  }

  async #giveDatabase(child: ChildProcess, folder: string): Promise<void> {
    const answer = await this.#openDatabase(folder).then(
      ({ url }): ToProgram => ({ kind: 'database', url }),
      (error: unknown): ToProgram => ({
        kind: 'database',
        fault: error instanceof Error ? error.message : String(error),
      }),
    );
    // It may have ended meanwhile.
    if (child.connected) child.send(answer, () => undefined);
  }

  /** Loaded only where it is needed. */
  #openDatabase(folder: string): Promise<EmbeddedDatabase> {
    const start = async () => (await import('../db/embedded.ts')).startEmbeddedDatabase({ folder });
    this.#database = (this.#database ?? start()).catch((error: unknown) => {
      this.#database = undefined;
      throw error;
    });
    return this.#database;
  }

  #pass(signal: 'SIGINT' | 'SIGTERM'): void {
    this.#signalledAt ??= performance.now();
    const sinceMs = performance.now() - this.#signalledAt;
    if (this.#isPassed && sinceMs < SECOND_SIGNAL_MS_MIN) return;
    this.#isPassed = true;
    this.#isStopping = true;
    clearTimeout(this.#restart);
    if (this.#child) this.#child.kill(signal);
    else this.#end(0);
  }
}
