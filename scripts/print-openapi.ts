/**
 * Writes the contract of the REST interface as OpenAPI to `openapi.json`, a snapshot that shows reviewers how a change affects
 * clients. `--check` compares instead and fails when the snapshot is out of date.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { readExamples } from '../src/rest-facade/examples.ts';
import { openApiOf } from '../src/rest-facade/openapi.ts';
import { rows } from '../src/rest-facade/rows.ts';

const file = new URL('../openapi.json', import.meta.url);
// Without version and address: the snapshot changes only when the contract does.
const product = { name: 'Mailwright', version: '1', baseUrl: 'http://localhost' };
const document = await openApiOf({ rows, prefix: '/api/v1', product, examples: readExamples() });
const printed = `${JSON.stringify(document, null, 2)}\n`;

if (process.argv.includes('--check')) {
  const kept = await readFile(file, 'utf8').catch(() => '');
  if (kept !== printed) {
    console.error('openapi.json is out of date: run `npm run openapi:print` and commit the result.');
    process.exitCode = 1;
  }
} else {
  await writeFile(file, printed);
}
