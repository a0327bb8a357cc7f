/**
 * Every statement has one predictable file: SQL stands in `<noun>-store.ts` (writes, locks, and the reads that belong to them)
 * or `<noun>-read-model.ts` (what only reads), and every table is written by one module. docs/tables.md names the stores.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readFunctionFiles } from '../../scripts/support/sql-functions.ts';
import {
  functionsCalled,
  ownerOf,
  readSqlTexts,
  sqlTextsIn,
  tablesMade,
  tablesWritten,
  takesLocks,
  writingFunctions,
  type SqlText,
} from '../../scripts/support/sql-statements.ts';
import { report, type Finding } from './project-files.ts';
import { writtenBySeveral } from './sql-homes.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const HOME = /-(store|read-model)\.ts$/;
const READ_MODEL = /-read-model\.ts$/;

const texts = readSqlTexts();
const functions = (await readFunctionFiles()).map(({ name, script }) => ({ name: `hot.${name}`, body: script }));

test('the check finds what it looks for', () => {
  const source =
    "query(sql`SELECT ${column} FROM x ${sql`WHERE a`}`); copy('COPY x (a) FROM STDIN'); say('Select one.');";
  expect(sqlTextsIn('a.ts', source).map(({ text }) => text)).toEqual([
    'SELECT $ FROM x $',
    'WHERE a',
    'COPY x (a) FROM STDIN',
  ]);
  expect(tablesWritten('INSERT INTO hot.a (x) SELECT 1 ON CONFLICT (x) DO UPDATE SET x = 2')).toEqual(['hot.a']);
  expect(tablesWritten('WITH gone AS (DELETE FROM "a") UPDATE public.b SET x = 1')).toEqual(['a', 'b']);
  expect(tablesWritten('SELECT 1 FROM a FOR NO KEY UPDATE OF a')).toEqual([]);
  expect(tablesWritten('DELETE FROM $ WHERE true')).toEqual(['$']);
  expect(takesLocks('SELECT 1 FROM a FOR NO KEY UPDATE')).toBe(true);
  const writing = writingFunctions([
    { name: 'hot.a', body: 'PERFORM hot.b (1)' },
    { name: 'hot.b', body: 'DELETE FROM x' },
    { name: 'hot.c', body: 'SELECT 1 -- as DELETE FROM x' },
  ]);
  expect([...writing].toSorted()).toEqual(['hot.a', 'hot.b']);
});

test('SQL stands in a store or a read model, and only a store writes', () => {
  expect(report([...homeless(), ...withoutSql(), ...writingReadModels()])).toEqual([]);
});

test('a table is written by one module', () => {
  const scripts = globSync('prisma/migrations/*/*.sql', { cwd: ROOT });
  const tables = new Set(scripts.flatMap((script) => tablesMade(readFileSync(path.join(ROOT, script), 'utf8'))));
  expect(tables.size).toBeGreaterThan(70);
  const owners = new Map<string, Set<string>>();
  for (const { path: file, text } of texts)
    for (const table of tablesWritten(text))
      if (tables.has(table)) owners.set(table, (owners.get(table) ?? new Set()).add(ownerOf(file)));
  const several = [...owners].filter(([, modules]) => modules.size > 1);
  expect(
    Object.fromEntries(several.map(([table, modules]) => [table, [...modules].toSorted()])),
    'move it to the owner, or take it out of sql-homes.ts',
  ).toEqual(Object.fromEntries(Object.entries(writtenBySeveral).map(([table, { modules }]) => [table, modules])));
});

function homeless(): Finding[] {
  return texts
    .filter((text) => !HOME.test(text.path))
    .map((text) => saying(text, "holds SQL, move it to its noun's store or read model"));
}

function withoutSql(): Finding[] {
  const homes = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => HOME.test(file) && !file.startsWith('src/db/'));
  expect(homes.length).toBeGreaterThan(40);
  const holding = new Set(texts.map((text) => text.path));
  return homes
    .filter((file) => !holding.has(file))
    .map((file) => ({ path: file, line: 1, what: 'has the name of a store or a read model, and holds no SQL' }));
}

function writingReadModels(): Finding[] {
  const writing = writingFunctions(functions);
  expect(writing.size).toBeGreaterThan(20);
  const writes = (text: string) =>
    tablesWritten(text).length > 0 || takesLocks(text) || functionsCalled(text).some((name) => writing.has(name));
  return texts
    .filter(({ path: file, text }) => READ_MODEL.test(file) && writes(text))
    .map((text) => saying(text, 'writes or locks in a read model, move it to the store'));
}

function saying({ path: file, line, text }: SqlText, what: string): Finding {
  return { path: file, line, what: `${what}: ${text.trim().split('\n')[0]}` };
}
