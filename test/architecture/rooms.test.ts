/** The house as it stands: the import table and the house style hold in every file of the project. */
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { findCycles, findForbiddenImports } from './check-imports.ts';
import { checkStyle, quantile } from './check-style.ts';
import { rooms } from './import-table.ts';
import { isProduct, readProject, roomOf, tell } from './project-files.ts';

const root = path.resolve(import.meta.dirname, '../..');
const files = readProject(root);
const product = files.filter(isProduct);

describe('rooms', () => {
  test('the table points downwards only, so rooms cannot form a ring', () => {
    for (const [name, { level, may, typesOf = [] }] of Object.entries(rooms)) {
      for (const target of [...may, ...typesOf].filter((room) => room !== 'domain/*')) {
        expect(rooms[target]?.level, `${name} -> ${target}`).toBeLessThan(level);
      }
    }
  });

  test('every file imports only what its room may', () => {
    expect(tell(findForbiddenImports(files))).toEqual([]);
  });

  test('no file imports itself by way of others', () => {
    expect(tell(findCycles(files))).toEqual([]);
  });

  test('the REST facade imports neither database nor schema nor domain', () => {
    const facade = product.filter((file) => roomOf(file.path) === 'rest-facade');
    const specifiers = facade.flatMap(({ imports }) => imports.map(({ specifier }) => specifier));
    expect(specifiers.filter((specifier) => /\/(db|schema|domain|workers|jobs)\/|^pg$|prisma/.test(specifier))).toEqual(
      [],
    );
  });
});

describe('house style', () => {
  test('every file keeps to it', () => {
    expect(tell(files.flatMap(checkStyle))).toEqual([]);
  });

  test('files are short: median at most 100 lines, nine of ten under 250', () => {
    const sizes = product.map(({ lines }) => lines);
    expect(quantile(sizes, 0.5)).toBeLessThanOrEqual(100);
    expect(quantile(sizes, 0.9)).toBeLessThan(250);
  });

  test('functions are short: nine of ten of the named ones under 40 lines', () => {
    const sizes = product.flatMap(({ functions }) =>
      functions.filter(({ name }) => name !== undefined).map(({ lines }) => lines),
    );
    expect(quantile(sizes, 0.9)).toBeLessThan(40);
  });

  test('casts are rare: at most one in 200 lines', () => {
    const casts = product.flatMap(({ path: file, casts: lines }) => lines.map((line) => `${file}:${line}`));
    const total = product.reduce((sum, { lines }) => sum + lines, 0);
    expect(casts.length, casts.join('\n')).toBeLessThanOrEqual(Math.ceil(total / 200));
  });
});
