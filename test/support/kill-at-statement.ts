/**
 * Loaded before the program (`NODE_OPTIONS=--import`): kills it at a statement. The file KILL_AT says at which one, and when; the first process
 * that comes there takes the file away and dies. Without the file nothing happens.
 */
import { readFileSync, rmSync } from 'node:fs';
import pg from 'pg';

/** Written to the file KILL_AT as JSON. */
export interface KillAt {
  /** A part of the statement, with one space between words. */
  readonly statement: string;
  /** Before it is sent, after it was answered, or after its transaction has committed. */
  readonly when: 'before' | 'answered' | 'committed';
}

const { KILL_AT: file = '' } = process.env;
const { query } = pg.Client.prototype;
/** Connections whose next commit is the moment. */
const doomed = new WeakSet<pg.Client>();

pg.Client.prototype.query = function watched(this: pg.Client, ...args: unknown[]) {
  const text = textOf(args[0]);
  const at = takenFor(text);
  if (at?.when === 'before') die();
  if (at?.when === 'committed') doomed.add(this);
  const answer: unknown = Reflect.apply(query, this, args);
  const isMoment = at?.when === 'answered' || (text === 'COMMIT' && doomed.has(this));
  if (isMoment && answer instanceof Promise) void answer.then(die);
  return answer;
} as typeof query;

function textOf(first: unknown): string {
  const text = typeof first === 'object' && first !== null && 'text' in first ? first.text : first;
  return typeof text === 'string' ? text.replaceAll(/\s+/g, ' ').trim() : '';
}

/** What is to happen at this statement. */
function takenFor(text: string): KillAt | undefined {
  let at: KillAt;
  try {
    at = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
  if (!text.includes(at.statement)) return undefined;
  rmSync(file, { force: true });
  return at;
}

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}
