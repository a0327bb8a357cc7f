/**
 * Runs a program of this machine: without a shell, with few variables, a bounded output and a limit of time. It says how the program
 * ended; what that means is exit-meaning.ts.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { homedir } from 'node:os';

/** The last words of a program say why it failed; more is read and dropped. */
const OUTPUT_BYTES_MAX = 4_096;
/** For a program to end by itself after it was asked to (SIGTERM). */
const END_MS = 2_000;
/** After SIGKILL. A program that runs as another user cannot be ended by us. */
const KILL_MS = 3_000;
/** A program that has left a process behind may never close its output. */
const LAST_OUTPUT_MS = 250;

export interface ProgramCall {
  readonly path: string;
  readonly arguments: readonly string[];
  /** For its standard input. Absent: there is none. */
  readonly input?: Uint8Array | undefined;
  readonly timeoutMs: number;
}

export type ProgramEnd = { readonly isStarted: false; readonly reason: string } | EndedProgram;

export interface EndedProgram {
  readonly isStarted: true;
  /** Null: it was ended by a signal, or it still runs. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** It was asked to end, because it took too long. */
  readonly isLate: boolean;
  /** It could not be ended. */
  readonly isRunning: boolean;
  /** It was given its whole input, and the end of it. */
  readonly hasInput: boolean;
  /** The last that it wrote. */
  readonly output: string;
}

export interface StartedProgram {
  /** Never rejects. */
  readonly end: Promise<ProgramEnd>;
  /** The process is gone: later than `end` for a program that could not be ended. */
  readonly gone: Promise<void>;
}

/** Starts the program and hands over its input at once. */
export function startProgram(call: ProgramCall): StartedProgram {
  try {
    const child = spawn(call.path, [...call.arguments], {
      cwd: '/',
      env: environment(),
      // A group of its own: Ctrl-C in a terminal does not end messages under way, and a limit ends what it has started, too.
      detached: true,
      stdio: [call.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    return watch(child, call);
  } catch (error) {
    return { end: Promise.resolve({ isStarted: false, reason: reasonOf(error) }), gone: Promise.resolve() };
  }
}

/** Credentials of this process are none of its business. */
function environment(): NodeJS.ProcessEnv {
  return { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: homedir(), LC_ALL: 'C' };
}

function watch(child: ChildProcess, { input, timeoutMs }: ProgramCall): StartedProgram {
  let hasInput = input === undefined;
  let isLate = false;
  let output = Buffer.alloc(0);
  const keep = (bytes: Buffer) => (output = Buffer.from(Buffer.concat([output, bytes]).subarray(-OUTPUT_BYTES_MAX)));
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  // EPIPE: it has ended, and how it ended is what counts.
  child.stdin?.on('error', () => undefined);
  child.stdin?.on('finish', () => (hasInput = true));
  child.stdin?.end(input);
  const ended = (code: number | null, signal: NodeJS.Signals | null, isRunning = false): ProgramEnd => ({
    ...{ isStarted: true, code, signal, isLate, isRunning, hasInput },
    output: output.toString(),
  });
  const gone = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => child.pid === undefined && resolve());
  });
  const end = new Promise<ProgramEnd>((resolve) => {
    const stopClock = limitTime(child, {
      timeoutMs,
      onLate: () => (isLate = true),
      onStuck: () => resolve(ended(null, null, true)),
    });
    child.once('error', (error) => {
      // Other errors are those of signals that cannot be sent.
      if (child.pid !== undefined) return;
      stopClock();
      resolve({ isStarted: false, reason: reasonOf(error) });
    });
    child.once('exit', () => {
      stopClock();
      const timer = setTimeout(() => closeStreams(child), LAST_OUTPUT_MS);
      child.once('close', () => clearTimeout(timer));
    });
    child.once('close', (code, signal) => resolve(ended(code, signal)));
  });
  return { end, gone };
}

interface TimeLimit {
  readonly timeoutMs: number;
  readonly onLate: () => void;
  readonly onStuck: () => void;
}

/**
 * SIGTERM, SIGKILL, and then it is left alone. Its input stays open all the time: to close it would tell the program that the message
 * is complete.
 */
function limitTime(child: ChildProcess, { timeoutMs, onLate, onStuck }: TimeLimit): () => void {
  let timer = setTimeout(() => {
    onLate();
    signalGroup(child, 'SIGTERM');
    timer = setTimeout(() => {
      signalGroup(child, 'SIGKILL');
      timer = setTimeout(onStuck, KILL_MS);
    }, END_MS);
  }, timeoutMs);
  return () => clearTimeout(timer);
}

/** The program, and what it has started. */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has just ended, or it runs as another user: the clock goes on.
  }
}

function closeStreams({ stdin, stdout, stderr }: ChildProcess): void {
  for (const stream of [stdin, stdout, stderr]) stream?.destroy();
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return REASONS[code] ?? (error instanceof Error ? error.message : String(error));
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such program on this machine',
  ENOTDIR: 'there is no such program on this machine',
  EACCES: 'this process may not run it (is it a program, and may everybody run it?)',
  ENOEXEC: 'it is no program for this machine',
  EAGAIN: 'this machine takes no more processes now',
  EMFILE: 'this process has too many files open',
  ENFILE: 'this machine has too many files open',
  ENOMEM: 'this machine has no memory left for another process',
};
