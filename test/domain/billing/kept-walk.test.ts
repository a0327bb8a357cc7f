/** A walk over a vendor's list that takes long keeps its time: nobody else begins one meanwhile. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { keepWalk } from '../../../src/domain/billing/remote/remote-walk-store.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { createTestContext } from '../../support/test-context.ts';

test('a walk that goes on is due later, and that of another gateway is not changed', async () => {
  const { db } = await createTestContext();
  const rows = await queryRows<{ id: bigint }>(
    db,
    sql`INSERT INTO payment_gateway (uid, type, name) VALUES (${newUid()}, 'stripe', 'One'), (${newUid()}, 'stripe', 'Two') RETURNING id`,
  );
  const until = new Date('2030-01-01T00:00:00Z');
  await keepWalk(db, rows[0]?.id ?? 0n, until);
  const kept = await queryRows<{ at: Date | null }>(
    db,
    sql`SELECT next_walk_at AS at FROM payment_gateway WHERE id = ANY (${rows.map(({ id }) => id)}::bigint[]) ORDER BY id`,
  );
  expect(kept.map(({ at }) => at)).toEqual([until, null]);
});
