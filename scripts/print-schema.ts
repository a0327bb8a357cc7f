/**
 * Writes the GraphQL schema as SDL to `schema.graphql`, the snapshot that codegen and readers use.
 * `--check` compares instead and fails when the snapshot is out of date.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { buildSchema } from '../src/schema/build-schema.ts';

const file = new URL('../schema.graphql', import.meta.url);
const printed = `${printSchema(lexicographicSortSchema(buildSchema()))}\n`;

if (process.argv.includes('--check')) {
  const kept = await readFile(file, 'utf8').catch(() => '');
  if (kept !== printed) {
    console.error('schema.graphql is out of date: run `npm run schema:print` and commit the result.');
    process.exitCode = 1;
  }
} else {
  await writeFile(file, printed);
}
