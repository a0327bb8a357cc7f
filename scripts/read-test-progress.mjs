/**
 * Reads what `test/support/progress-reporter.ts` wrote. `counts` prints the numbers of tests that passed and failed, a file that
 * never ended as one failure; `failures` prints each of them. Usage: `node scripts/read-test-progress.mjs <file>
 * counts|failures`. Plain JavaScript for the Node version of the machine.
 */
import { readFileSync } from 'node:fs';

const ERROR_CHARS_MAX = 2_000;

const [file = '', what] = process.argv.slice(2);
const lines = readFileSync(file, 'utf8')
  .split('\n')
  // The last line may be incomplete when the writer was killed.
  .flatMap((line) => (line.endsWith('}') ? [JSON.parse(line)] : []));
const ended = new Set(lines.flatMap((line) => line.ended ?? []));
const failures = [
  ...lines.flatMap((line) =>
    (line.failures ?? []).map(({ test, errors }) => ({ where: `${line.ended}: ${test}`, errors })),
  ),
  ...lines.flatMap(({ ended: where = '', errors }) => (errors === undefined ? [] : [{ where, errors }])),
  ...lines
    .flatMap(({ began }) => (began === undefined || ended.has(began) ? [] : [began]))
    .map((where) => ({ where, errors: ['began and never ended'] })),
];

if (what === 'counts') {
  const passed = lines.reduce((sum, line) => sum + (line.passed ?? 0), 0);
  console.log(`${passed} ${failures.length}`);
} else {
  for (const { where, errors } of failures) {
    const excerpt = errors.join('\n').slice(0, ERROR_CHARS_MAX).replaceAll('\n', '\n    ');
    console.log(`  ${where}\n    ${excerpt}`);
  }
}
