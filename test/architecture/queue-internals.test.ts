/** Private tables of graphile-worker are named in one module: for another version of the library there is one place to check. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');
const MODULE = 'src/jobs/queue-internals-store.ts';
const PRIVATE = /(?<!\w)_private_/;

// Tests look at the queue from outside, and empty it.
test('private tables of the queue are named in one module', () => {
  const files = globSync('{src,plugins,scripts,bench}/**/*.{ts,mjs}', { cwd: root })
    .map((file) => file.replaceAll(path.sep, '/'))
    .filter((file) => !file.startsWith('src/generated/'));
  expect(files.length).toBeGreaterThan(500);
  expect(files.filter((file) => PRIVATE.test(readFileSync(path.join(root, file), 'utf8')))).toEqual([MODULE]);
});
