/** The import table and the style rules hold in every file of the project. */
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { findCycles, findForbiddenImports } from './check-imports.ts';
import { checkStyle, quantile } from './check-style.ts';
import { findDuplicates } from './find-duplicates.ts';
import { modules } from './import-table.ts';
import { isProduct, readProject, moduleOf, report } from './project-files.ts';
import { ratchets } from './ratchets.ts';
import type { SourceFile } from './source-file.ts';

const root = path.resolve(import.meta.dirname, '../..');
const files = readProject(root);
const product = files.filter(isProduct);

describe('modules', () => {
  test('the table points downwards only, so modules cannot form a cycle', () => {
    for (const [name, { level, may, typesOf = [] }] of Object.entries(modules)) {
      for (const target of [...may, ...typesOf].filter((module) => module !== 'domain/*')) {
        expect(modules[target]?.level, `${name} -> ${target}`).toBeLessThan(level);
      }
    }
  });

  test('every file imports only what its module may', () => {
    expect(report(findForbiddenImports(files))).toEqual([]);
  });

  test('there are no cycles', () => {
    expect(report(findCycles(files))).toEqual([]);
  });

  test('the REST facade imports neither database nor schema nor domain', () => {
    const facade = product.filter((file) => moduleOf(file.path) === 'rest-facade');
    const specifiers = facade.flatMap(({ imports }) => imports.map(({ specifier }) => specifier));
    expect(specifiers.filter((specifier) => /\/(db|schema|domain|workers|jobs)\/|^pg$|prisma/.test(specifier))).toEqual(
      [],
    );
  });
});

describe('style', () => {
  test('every file keeps to it', () => {
    expect(report(files.flatMap(checkStyle))).toEqual([]);
  });

  test.each(Object.entries(figures()))('%s: no more than there were', (name, today) => {
    const most = ratchets[name] ?? 0;
    expect(today, `${name}: find a way that does not raise it`).toBeLessThanOrEqual(most);
    expect(today, `${name}: has fallen, write it into ratchets.ts`).toBeGreaterThanOrEqual(Math.floor(most * 0.9));
  });
});

/** The present values of the figures in `ratchets`. */
function figures(): Record<string, number> {
  const fileLines = product.map(({ lines }) => lines);
  const functionLines = product.flatMap(({ functions }) =>
    functions.filter(({ name }) => name !== undefined).map(({ lines }) => lines),
  );
  const duplicates = (isMeant: (file: SourceFile) => boolean) =>
    findDuplicates(
      root,
      files.filter(isMeant).map((file) => file.path),
    ).length;
  return {
    'lines of the longest file': Math.max(...fileLines),
    'lines of half of the files, at most': quantile(fileLines, 0.5),
    'lines of nine in ten files, at most': quantile(fileLines, 0.9),
    'lines of the longest function': Math.max(...functionLines),
    'lines of nine in ten functions, at most': quantile(functionLines, 0.9),
    casts: product.reduce((sum, { casts }) => sum + casts.length, 0),
    'duplicates in the product': duplicates(isProduct),
    'duplicates in tests': duplicates(({ path: file }) => moduleOf(file) === 'test'),
    'duplicates in benches': duplicates(({ path: file }) => moduleOf(file) === 'bench'),
    'duplicates in scripts': duplicates(({ path: file }) => moduleOf(file) === 'scripts'),
  };
}
