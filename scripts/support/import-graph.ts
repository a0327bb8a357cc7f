/** Which file of the project imports which: to find the tests that a change can affect. */
import { readFileSync } from 'node:fs';
import path from 'node:path';

/** `import ... from './x.ts'`, `export ... from './x.ts'`, `import('./x.ts')`, and threads: `new URL('./x.ts', ...)`. */
const RELATIVE_IMPORT = /(?:\bfrom|\bimport|\bnew URL)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

/** By file, the files that import it. Paths are relative to `root`, with slashes. */
export type Importers = ReadonlyMap<string, ReadonlySet<string>>;

/** Reads the imports of all these files. */
export function readImporters(root: string, files: readonly string[]): Importers {
  const importers = new Map<string, Set<string>>();
  for (const file of files) {
    const source = readFileSync(path.join(root, file), 'utf8');
    for (const [, specifier = ''] of source.matchAll(RELATIVE_IMPORT)) {
      const target = path.posix.join(path.posix.dirname(file), specifier);
      const known = importers.get(target) ?? new Set();
      importers.set(target, known.add(file));
    }
  }
  return importers;
}

/** Every file that imports one of these, directly or indirectly, with its distance: 0 is the file itself. */
export function distancesFrom(importers: Importers, changed: readonly string[]): ReadonlyMap<string, number> {
  const distances = new Map(changed.map((file) => [file, 0]));
  // A Map is iterated in the order of insertion, including what is added meanwhile: breadth first.
  for (const [file, distance] of distances) {
    for (const importer of importers.get(file) ?? []) {
      if (!distances.has(importer)) distances.set(importer, distance + 1);
    }
  }
  return distances;
}
