/**
 * Fails when `schema.graphql` breaks what `schema.released.graphql` promises and the changelog does not say so: clients are written
 * for a release. `-- <released> <present> <changelog>` compares other files.
 */
import { readFile } from 'node:fs/promises';
import { unannouncedChanges } from './support/breaking-changes.ts';

const [released = 'schema.released.graphql', present = 'schema.graphql', changelog = 'CHANGELOG.md'] =
  process.argv.slice(2);
const [before, after, text] = await Promise.all([released, present, changelog].map((file) => readFile(file, 'utf8')));
const missing = unannouncedChanges(before ?? '', after ?? '', text ?? '');
if (missing.length > 0) {
  console.error(
    `${present} breaks clients of the last release. Undo it, or add a line with "**Breaking**" to the unreleased section of ${changelog} that names the type or field in backquotes:`,
  );
  for (const sentence of missing) console.error(`- ${sentence}`);
  process.exitCode = 1;
}
