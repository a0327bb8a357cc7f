/** Uploads that are begun at once (I5). */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { viewerOf } from '../../../src/domain/context.ts';
import { OPEN_UPLOADS_MAX } from '../../../src/domain/files/file.ts';
import { startFileUpload } from '../../../src/domain/files/upload-file.ts';
import { createTenant } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const base = await createTestContext();

test('fifty at once are as many as may be under way, and no more', async () => {
  const ctx = await createTenant(base);
  const begun = await Promise.allSettled(
    Array.from({ length: 50 }, (_, n) => startFileUpload(ctx, { name: `${n}.png` })),
  );
  const refused = begun.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  expect(refused.every((error) => error.code === 'TOO_MANY_UPLOADS')).toBe(true);
  const [row] = await queryRows<{ open: number }>(
    ctx.db,
    sql`SELECT count(*)::int AS open FROM uploaded_file WHERE customer_id = ${viewerOf(ctx).customerId}`,
  );
  expect(row?.open).toBe(OPEN_UPLOADS_MAX);
  expect(refused).toHaveLength(50 - OPEN_UPLOADS_MAX);
});
