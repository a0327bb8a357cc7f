/** Kept answers are for callers who may still call (hard cases E2, E19). */
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { insertApiToken } from '../../../src/domain/accounts/api-token-store.ts';
import { createKeptCalls } from '../../../src/domain/accounts/idempotent-calls.ts';
import { viewerOf } from '../../../src/domain/context.ts';
import { createTenant } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const base = await createTestContext();
const calls = createKeptCalls<{ secret: string }>(
  { database: base.database, secret: base.installation.secret, log: base.log },
  JSON.parse,
);

test.each(['customer', 'app_user'])('no kept answer is told to a token whose %s was disabled', async (table) => {
  const ctx = await createTenant(base);
  const { customerId } = viewerOf(ctx);
  const { token } = await insertApiToken(ctx.db, { ...viewerOf(ctx), kind: 'named', name: 'Mine', scopes: ['*'] });
  const call = { token, ipAddress: '192.0.2.7', key: 'once', content: 'the same' };
  const first = await calls.begin(call);
  if (first.kind !== 'first') throw new Error('Nobody called before.');
  await first.keep({ secret: 'shown once' });
  expect(await calls.begin(call)).toEqual({ kind: 'answered', answer: { secret: 'shown once' } });
  await ctx.db.execute(
    table === 'customer'
      ? sql`UPDATE customer SET status = 'disabled' WHERE id = ${customerId}`
      : sql`UPDATE app_user SET status = 'disabled' WHERE customer_id = ${customerId}`,
  );
  expect(await calls.begin(call)).toEqual({ kind: 'unknown-caller' });
});
