/**
 * Writes what the product publishes for other programs as snapshots, which show reviewers how a change affects clients: the contract of the REST
 * interface as OpenAPI (`openapi.json`) and the JSON Schema of flows (`flow.schema.json`). `--check` compares instead and fails when a snapshot is
 * out of date.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { flowJsonSchema } from '../src/domain/automations/flow/flow-json-schema.ts';
import { readExamples } from '../src/rest-facade/examples.ts';
import { openApiOf } from '../src/rest-facade/openapi.ts';
import { rows } from '../src/rest-facade/rows.ts';

// Without version and address: the snapshots change only when the contract does.
const product = { name: 'Mailwright', version: '1', baseUrl: 'http://localhost' };
const isCheck = process.argv.includes('--check');

await keep('openapi.json', await openApiOf({ rows, prefix: '/api/v1', product, examples: readExamples() }));
await keep('flow.schema.json', flowJsonSchema(`${product.baseUrl}/api/v1/flow.schema.json`));

async function keep(name: string, document: object): Promise<void> {
  const file = new URL(`../${name}`, import.meta.url);
  const printed = `${JSON.stringify(document, null, 2)}\n`;
  if (!isCheck) return writeFile(file, printed);
  if ((await readFile(file, 'utf8').catch(() => '')) === printed) return;
  console.error(`${name} is out of date: run \`npm run openapi:print\` and commit the result.`);
  process.exitCode = 1;
}
