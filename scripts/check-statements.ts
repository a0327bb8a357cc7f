/**
 * npm run statements:check -- <file>: names every statement of the product that no test has run. The file is written by
 * `STATEMENTS_RUN=<file> npm test`, the whole suite.
 */
import { readFileSync } from 'node:fs';
import { readStatementPlaces } from './support/statement-places.ts';

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('Name the file that STATEMENTS_RUN=<file> npm test has written.');
const run = new Set(readFileSync(file, 'utf8').split('\n'));
const places = readStatementPlaces();
const missing = places.filter((place) => !run.has(place));
for (const place of missing)
  console.error(`${place}: no test runs this statement. Write one, or remove the statement.`);
console.log(`${places.length - missing.length} of ${places.length} statements were run by the tests.`);
process.exitCode = missing.length > 0 ? 1 : 0;
