/**
 * Who writes rows to the ledger: the audience of a campaign, and the one function for all other messages. What a person's deliveries
 * are found by (erasing, exporting, bounces in warm-up) knows these two; another writer must be taught to them (0399).
 */
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (pattern: string) => globSync(pattern).map((path) => [path, readFileSync(path, 'utf8')] as const);
const sources = [...read('src/**/*.ts'), ...read('prisma/functions/*.sql')].filter(
  ([path]) => !path.includes('generated'),
);

test('two statements write to the ledger', () => {
  const writers = sources.filter(([, text]) => /INSERT INTO hot\.delivery\b(?!_)/.test(text)).map(([path]) => path);
  expect(writers.toSorted()).toEqual([
    'prisma/functions/enqueue_messages.sql',
    'src/domain/delivery/campaigns/audience-snapshot-store.ts',
  ]);
});
