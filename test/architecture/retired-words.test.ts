/**
 * One thing has one word (docs/language.md): words of an earlier language of our own come back neither in names nor in file
 * names. Retired words are read from the page's table, each with the folders in which it is retired. SQL, texts and comments
 * are not looked at.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, it } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** `| house | src, plugins | operator's account |` */
const ROW = /^\| ([a-z, ]+) \| ([\w/, -]+) \| [^|]+ \|$/gm;

interface Retired {
  readonly word: string;
  readonly folder: string;
}

function retiredWords(): Retired[] {
  const [, part = ''] = readFileSync(path.join(ROOT, 'docs/language.md'), 'utf8').split('## Retired words');
  return [...part.matchAll(ROW)].flatMap(([, words = '', folders = '']) =>
    words
      .split(', ')
      .flatMap((word) => folders.split(', ').map((folder) => ({ word: word.trim(), folder: folder.trim() }))),
  );
}

/** `openVisitRecorder`, `visit-recorder`, `VISIT_MAX` and `#visits` all hold words, in lower case. */
export function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

/** Every name that a file declares or uses, and its own. */
function namesOf(file: string): string[] {
  const names = new Set([path.basename(file)]);
  const { program } = parseSync(file, readFileSync(path.join(ROOT, file), 'utf8'));
  new Visitor({
    Identifier: ({ name }) => void names.add(name),
    PrivateIdentifier: ({ name }) => void names.add(name),
  }).visit(program);
  return [...names];
}

it('words hold together as they are written', () => {
  expect(wordsOf('openHTTPDoor')).toEqual(['open', 'http', 'door']);
  expect(wordsOf('HAND_OVERS_A_TURN')).toContain('turn');
  expect(wordsOf('own-list.test.ts')).toContain('own');
});

it('retired words are in no name', () => {
  const retired = retiredWords();
  expect(retired.length).toBeGreaterThan(20);
  const found: string[] = [];
  for (const folder of new Set(retired.map((one) => one.folder))) {
    const words = new Set(retired.filter((one) => one.folder === folder).map(({ word }) => word));
    const files = globSync(`${folder}/**/*.{ts,mjs}`, {
      cwd: ROOT,
      exclude: (name) => /generated|node_modules/.test(name),
    });
    expect(files.length, folder).toBeGreaterThan(0);
    for (const file of files)
      for (const name of namesOf(file))
        for (const word of wordsOf(name)) if (words.has(word)) found.push(`${file}: "${word}" in ${name}`);
  }
  expect(found, 'docs/language.md says what to call it instead').toEqual([]);
});
