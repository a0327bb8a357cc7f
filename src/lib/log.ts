/**
 * Logs: one JSON line per event, or a readable line on a terminal. Never log a secret. Email addresses are removed from every
 * text: replies of servers and errors of libraries contain those of recipients.
 */
import { RepeatedFaults } from './repeated-faults.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';
export type LogFormat = 'json' | 'pretty';
export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** The same log with fields on every line (a request id, a campaign). */
  with(fields: LogFields): Log;
}

interface LogOptions {
  level: LogLevel;
  format: LogFormat;
  write?: (line: string) => void;
}

const RANK: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 };

export function createLog(options: LogOptions, bound: LogFields = {}, faults = new RepeatedFaults()): Log {
  const write = options.write ?? ((line: string) => process.stderr.write(`${line}\n`));
  const writeLine = (level: LogLevel, event: string, fields: LogFields): void => {
    const entry = { time: new Date().toISOString(), level, event, ...bound, ...fields };
    write(options.format === 'json' ? JSON.stringify(entry, plain).replace(C1, escaped) : pretty(entry));
  };
  const at =
    (level: LogLevel) =>
    (event: string, fields: LogFields = {}) => {
      if (RANK[level] < RANK[options.level]) return;
      faults.take({ level, event, fields, write: (more) => writeLine(level, event, { ...fields, ...more }) });
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: (fields) => createLog(options, { ...bound, ...fields }, faults),
  };
}

/** A log that says nothing, for programs that print their own progress. */
export const silentLog: Log = createLog({ level: 'silent', format: 'json' });

function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return withoutAddresses(value);
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Error) return factsOf(value);
  return value;
}

/** Not its other properties: those of a library's error may contain input. */
function factsOf(error: Error): Record<string, unknown> {
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  return { name: error.name, ...code, message: error.message, stack: error.stack };
}

/** A local part has at most 64 characters (RFC 5321, 4.5.3.1.1); the limits also keep this linear. */
const ADDRESS = /[^\s@<>"'(),;:/\\[\]]{1,64}@[^\s@<>"'(),;:/\\[\]]{1,255}/g;

function withoutAddresses(text: string): string {
  return text.includes('@') ? text.replace(ADDRESS, '<address>') : text;
}

function pretty(entry: { time: string; level: string; event: string }): string {
  const { time, level, event, ...rest } = entry;
  const details = Object.entries(rest).map(([key, value]) => `${key}=${readable(value)}`);
  return [time.slice(11, 23), level.toUpperCase().padEnd(5), event, ...details].join(' ');
}

function readable(value: unknown): string {
  // Several lines on purpose: a stack.
  if (value instanceof Error) return withoutAddresses(value.stack ?? value.message).replace(CONTROL_IN_LINE, escaped);
  if (typeof value !== 'string') return JSON.stringify(value, plain);
  const text = withoutAddresses(value);
  // A text from outside must not start a new line or control the terminal.
  return CONTROL.test(text) ? JSON.stringify(text).replace(C1, escaped) : text;
}

const CONTROL = /[\p{Cc}\u2028\u2029]/u;
const CONTROL_IN_LINE = /[^\P{Cc}\n\t]/gu;
/** Characters that JSON keeps and that some terminals and log readers take for a command or a line end. */
const C1 = /[\u007f-\u009f\u2028\u2029]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
