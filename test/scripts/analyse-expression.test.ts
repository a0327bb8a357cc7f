/** Regular expressions that once held the process for seconds are found; those that replaced them pass. */
import { expect, test } from 'vitest';
import { backtrackingFault } from '../../scripts/support/analyse-expression.ts';

test.for<[name: string, pattern: string, flags: string]>([
  ['blanks at the end of lines', ' +$', 'gm'],
  ['a repetition in a repetition', '^(?:a+)+$', ''],
  ['two that may take the same', String.raw`^\s*a?\s*$`, ''],
  ['without regard to case', '^(?:A|a)+b$', 'i'],
  ['counts, whose numbers are made smaller', '^(?:a{2,60})*$', ''],
  ['what stands in a condition', '(?=(?:a+)+b)c', ''],
])('%s backtracks', ([, pattern, flags]) => {
  expect(backtrackingFault(pattern, flags)).toMatch(/^takes .* time, as for /);
});

test.for<[pattern: string, flags: string]>([
  ['^[^@]+@[^@]+$', ''],
  [String.raw`^(?:[a-z]+\.)+[a-z]+$`, 'i'],
  ['a{2,60}b', ''],
  ['no repetition at all', ''],
])('/%s/%s takes time in proportion to the text', ([pattern, flags]) => {
  expect(backtrackingFault(pattern, flags)).toBeUndefined();
});

test('a new syntax is told, not passed over', () => {
  expect(backtrackingFault('(?<year>a+)(?:b', '')).toMatch(/^cannot be analysed: |closes/);
});
