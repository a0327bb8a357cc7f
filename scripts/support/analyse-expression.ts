/** Whether the time of a regular expression may grow faster than the length of its text. */
import { createRequire } from 'node:module';
import type * as recheck from 'recheck';
import { simplifyExpression } from './simplify-expression.ts';

// The JavaScript variant: it gives the same answer on every machine and needs no binary per platform.
const { checkSync }: typeof recheck = createRequire(import.meta.url)('recheck/lib/browser.js');

/** Most take milliseconds; hundreds of words without regard to case take up to a minute, more on a busy machine. */
const TIMEOUT_MS = 240_000;

/** The fault of an expression, with a text that shows it; undefined when there is none. */
export function backtrackingFault(pattern: string, flags: string): string | undefined {
  for (const part of simplifyExpression(pattern, flags)) {
    const result = checkSync(part, flags.replace('i', ''), { checker: 'automaton', timeout: TIMEOUT_MS });
    if (result.status === 'vulnerable')
      return `takes ${result.complexity.summary} time, as for ${result.attack.pattern}`;
    if (result.status === 'unknown') return `cannot be analysed: ${JSON.stringify(result.error)}`;
  }
  return undefined;
}
