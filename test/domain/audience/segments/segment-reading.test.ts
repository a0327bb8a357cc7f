/** What a statement about a rule may take of the machine. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../../scripts/support/query-rows.ts';
import { sql } from '../../../../src/db/database.ts';
import { readPeople } from '../../../../src/domain/audience/segments/segment-read-model.ts';
import { RULE_CONDITIONS_MAX, type SegmentRule } from '../../../../src/domain/audience/segments/segment.ts';
import { createTestContext } from '../../../support/test-context.ts';

const ctx = await createTestContext();

test.each([1, 16, RULE_CONDITIONS_MAX])('memory is bounded for a rule of %d sets', async (sets) => {
  const opened = (atLeast: number): SegmentRule => ({ opened: { atLeast } });
  const rule = { any: [{ all: Array.from({ length: sets }, (_, n) => opened(n + 1)) }] };
  const kb = await readPeople(ctx, { customerId: 1n, listId: 1n, rule }, async ({ db }) => {
    const [row] = await queryRows<{ kb: number }>(
      db,
      sql`SELECT setting::int AS kb FROM pg_settings WHERE name = 'work_mem'`,
    );
    return row?.kb ?? 0;
  });
  expect(kb * sets).toBeLessThanOrEqual(512 * 1024);
  expect(kb).toBeGreaterThanOrEqual(sets <= 16 ? 32 * 1024 : 5_000);
});
