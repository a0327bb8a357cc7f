/** Bounds what plugins write to the program's output: a plugin that logs without end must not fill the disk or keep others from being read. */
import type { Log } from '../lib/log.ts';
import { asMailwright, runningPlugin } from './running-plugin.ts';

/** At once; enough for a stack or a table. */
const CHARACTERS_MAX = 100_000;
/** Per second, in the long run: a gigabyte a day would be 12,000. */
const CHARACTERS_PER_SECOND = 2_000;
/** One line. */
const LINE_CHARACTERS_MAX = 10_000;
/** How often it is said that something was left out. */
const REPORT_MS = 10_000;

interface Budget {
  characters: number;
  at: number;
  leftOut: number;
  reportedAt: number;
}

/** From now on each plugin may write so much to the standard output and the log, together. */
export function boundOutput(log: Log): void {
  const budgets = new Map<string, Budget>();
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream);
    stream.write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
      const plugin = runningPlugin();
      const allowed = plugin === undefined ? chunk : take(budgetOf(budgets, plugin), chunk);
      if (plugin !== undefined) report(log, plugin, budgetOf(budgets, plugin));
      const done = rest.find((each) => typeof each === 'function');
      const encoding = typeof rest[0] === 'string' ? rest[0] : undefined;
      if (allowed !== undefined)
        return Reflect.apply(write, stream, encoding ? [allowed, encoding, done] : [allowed, done]);
      if (typeof done === 'function') process.nextTick(done);
      return true;
    };
  }
}

function budgetOf(budgets: Map<string, Budget>, plugin: string): Budget {
  const now = performance.now();
  const known = budgets.get(plugin) ?? { characters: CHARACTERS_MAX, at: now, leftOut: 0, reportedAt: -REPORT_MS };
  const gained = ((now - known.at) / 1_000) * CHARACTERS_PER_SECOND;
  known.characters = Math.min(CHARACTERS_MAX, known.characters + gained);
  known.at = now;
  budgets.set(plugin, known);
  return known;
}

/** What may be written of it; undefined: nothing. */
function take(budget: Budget, chunk: string | Uint8Array): string | Uint8Array | undefined {
  if (budget.characters <= 0) {
    budget.leftOut += chunk.length;
    return undefined;
  }
  const isLong = chunk.length > LINE_CHARACTERS_MAX;
  budget.characters -= Math.min(chunk.length, LINE_CHARACTERS_MAX);
  if (!isLong) return chunk;
  budget.leftOut += chunk.length - LINE_CHARACTERS_MAX;
  return typeof chunk === 'string'
    ? `${chunk.slice(0, LINE_CHARACTERS_MAX)}\n`
    : chunk.subarray(0, LINE_CHARACTERS_MAX);
}

function report(log: Log, plugin: string, budget: Budget): void {
  const now = performance.now();
  if (budget.leftOut === 0 || now - budget.reportedAt < REPORT_MS) return;
  const characters = budget.leftOut;
  Object.assign(budget, { leftOut: 0, reportedAt: now });
  asMailwright(() => log.warn('plugin.output_left_out', { plugin, characters }));
}
