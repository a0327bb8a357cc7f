/** The checks themselves: each one finds its fault in a small wrong project, and none in a right one. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { findCycles, findForbiddenImports } from './check-imports.ts';
import { checkStyle, quantile } from './check-style.ts';
import { readProject, report } from './project-files.ts';

const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

/** Writes the files into a temporary project and reports everything that is wrong with it. */
function inspect(sources: Readonly<Record<string, string>>): string[] {
  const root = mkdtempSync(path.join(tmpdir(), 'mailwright-architecture-'));
  folders.push(root);
  for (const [file, source] of Object.entries(sources)) {
    mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(root, file), `/** A sample. */\n${source}\n`);
  }
  const files = readProject(root);
  return report([...findForbiddenImports(files), ...findCycles(files), ...files.flatMap(checkStyle)]);
}

test('a right project has no findings', () => {
  const sources = {
    'src/lib/ids.ts': 'export const id = 1;',
    'src/db/database.ts': `import { id } from '../lib/ids.ts';\nexport interface Database { id: typeof id }`,
    'src/domain/context.ts': `import type { Database } from '../db/database.ts';\nexport type Context = { db: Database };`,
    'src/domain/accounts/log-in.ts': `import type { Context } from '../context.ts';\n/** Logs in. */\nexport function logIn(ctx: Context) { return ctx; }`,
    'src/domain/audience/list.ts': `import { logIn } from '../accounts/log-in.ts';\nimport pg from 'pg';\nexport const list = [logIn, pg];`,
    'plugins/acme/post/index.ts': `import type { Plugin } from '../../../src/plugin-api/index.ts';\nexport const plugin: Plugin = {};`,
    'src/plugin-api/index.ts': `export type { Plugin } from './plugin.ts';`,
    'src/plugin-api/plugin.ts': 'export interface Plugin { name?: string }',
  };
  expect(inspect(sources)).toEqual([]);
});

test.each([
  [
    'upwards in the domain',
    'src/domain/accounts/a.ts',
    `import { x } from '../campaigns/b.ts';`,
    'may not import domain/campaigns',
  ],
  ['a type import', 'src/rest-facade/a.ts', `import type { X } from '../db/database.ts';`, 'may not import db'],
  [
    'a re-export',
    'src/http/a.ts',
    `export const one = 1;\nexport { x } from '../schema/b.ts';`,
    'may not import schema',
  ],
  [
    'a dynamic import',
    'src/rest-facade/a.ts',
    `export const x = () => import('../domain/audience/b.ts');`,
    'may not import domain/audience',
  ],
  ['an import type', 'src/lib/a.ts', `export type X = import('../db/b.ts').X;`, 'may not import db'],
  [
    'a database package in the facade',
    'src/rest-facade/a.ts',
    `import pg from 'pg';\nexport const p = pg;`,
    'may not import the package pg',
  ],
  [
    'a plugin that imports the program',
    'plugins/acme/post/a.ts',
    `import { x } from '../../../src/lib/ids.ts';`,
    'a plugin may import only',
  ],
  [
    'a plugin in another',
    'plugins/acme/post/a.ts',
    `import { x } from '../../other/thing/b.ts';`,
    'a plugin may import only',
  ],
  [
    'the database in a resolver',
    'src/schema/lists/a.ts',
    `import { x } from '../../db/b.ts';`,
    'may not import db here',
  ],
  ['a value where types are allowed', 'src/domain/context.ts', `import { x } from '../db/b.ts';`, 'only types of db'],
  [
    'a program in the product',
    'src/app/a.ts',
    `import { x } from '../../test/support/b.ts';`,
    'app may not import test',
  ],
  ['a module that the table does not know', 'src/helpers/a.ts', `import { x } from '../lib/b.ts';`, 'does not know'],
])('finds %s', (_name, file, source, expected) => {
  expect(inspect({ [file]: source })).toEqual([expect.stringMatching(new RegExp(`^${file}:\\d+ .*${expected}`))]);
});

test('finds a cycle of three files, also when it is closed by a type', () => {
  const findings = inspect({
    'src/lib/a.ts': `import { b } from './b.ts';\nexport const a = b;`,
    'src/lib/b.ts': `import { c } from './c.ts';\nexport const b = c;`,
    'src/lib/c.ts': `import type { a } from './a.ts';\nexport const c: typeof a = 1;`,
  });
  expect(findings).toEqual([
    expect.stringContaining(
      'src/lib/c.ts:2 closes a cycle: src/lib/a.ts -> src/lib/b.ts -> src/lib/c.ts -> src/lib/a.ts',
    ),
  ]);
});

const lines = (count: number): string => 'void 0;\n'.repeat(count);

test.each([
  ['a long file', 'src/lib/a.ts', lines(400), 'has 401 lines'],
  ['a long function', 'src/lib/a.ts', `export function far() {\n${lines(70)}}`, 'far has 72 lines'],
  ['a long arrow function', 'scripts/a.ts', `export const far = () => {\n${lines(70)}};`, 'far has 72 lines'],
  ['any', 'test/a.ts', 'export const a: any = 1;', 'says any'],
  ['a default export', 'plugins/acme/post/a.ts', 'export default 1;', 'exports a default'],
  ['a barrel', 'src/lib/index.ts', `export * from './b.ts';`, 'only passes on'],
  ['another case of name', 'src/lib/myFile.ts', 'export const a = 1;', 'kebab-case'],
  ['many parameters', 'src/lib/a.ts', 'export function f(a: 1, b: 1, c: 1, d: 1, e = {}) {}', 'takes 4 parameters'],
  [
    'a silent verb',
    'src/domain/accounts/a.ts',
    '\nexport function act(ctx: object) {\n  return ctx;\n}',
    'no /\\*\\* sentence',
  ],
])('finds %s', (_name, file, source, expected) => {
  expect(inspect({ [file]: source })).toEqual([expect.stringMatching(new RegExp(`^${file}:\\d+ .*${expected}`))]);
});

test('finds a file that does not say what it is for', () => {
  const root = mkdtempSync(path.join(tmpdir(), 'mailwright-architecture-'));
  folders.push(root);
  mkdirSync(path.join(root, 'src/lib'), { recursive: true });
  writeFileSync(path.join(root, 'src/lib/a.ts'), 'export const a = 1;\n');
  expect(report(readProject(root).flatMap(checkStyle))).toEqual([
    expect.stringContaining('does not open with a comment'),
  ]);
});

test('quantile takes the value at the share', () => {
  expect(quantile([5, 1, 3, 2, 4], 0.5)).toBe(3);
  expect(quantile([], 0.9)).toBe(0);
});
