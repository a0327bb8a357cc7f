/**
 * Only campaigns write to the ledger as yet. Erasing and exporting a person, and bounces during warm-up, know campaigns only:
 * they must be extended before another kind of source is written (decision record 0399).
 */
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (pattern: string) => globSync(pattern).map((path) => [path, readFileSync(path, 'utf8')] as const);
const sources = [...read('src/**/*.ts'), ...read('prisma/functions/*.sql')].filter(
  ([path]) => !path.includes('generated'),
);

test('one statement writes to the ledger, and its source is a campaign', () => {
  const writers = sources.filter(([, text]) => /INSERT INTO hot\.delivery\b(?!_)/.test(text)).map(([path]) => path);
  expect(writers).toEqual(['src/domain/delivery/audience-snapshot-store.ts']);
  const kinds = sources.filter(([, text]) => /SOURCE_KINDS\.(automation|transactional|listMail|test)\b/.test(text));
  expect(kinds.map(([path]) => path)).toEqual([]);
});
