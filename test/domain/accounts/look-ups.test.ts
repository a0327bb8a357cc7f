/** What logins and open connections ask all the time reads what it finds, however much an attack left in the tables. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql, type Transaction } from '../../../src/db/database.ts';
import { insertApiToken } from '../../../src/domain/accounts/api-token-store.ts';
import { rightsOfTokens } from '../../../src/domain/accounts/api-token-store.ts';
import { GUESSES, countNoLoginTry, reserveLoginTry } from '../../../src/domain/accounts/login-failures.ts';
import { viewerOf } from '../../../src/domain/context.ts';
import { createTenant } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTenant(await createTestContext());
const { customerId, userId } = viewerOf(ctx);
const MANY = 20_000;

/** Rows that the open transaction has read of the table. */
async function rowsRead(tx: Transaction, table: string): Promise<number> {
  const [row] = await queryRows<{ rows: number }>(
    tx,
    sql`SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS rows FROM pg_stat_xact_user_tables WHERE relname = ${table}`,
  );
  return row?.rows ?? 0;
}

test('a login that goes well finds its own reservation', async () => {
  await ctx.db.execute(
    sql`INSERT INTO hot.rate_window (key, used, ends_at) SELECT 's' || n, 1, now() + interval '1 day' FROM generate_series(1, ${MANY}::int) n`,
  );
  await ctx.db.execute(sql`ANALYZE hot.rate_window`);
  const reservation = await reserveLoginTry(ctx.database, [{ key: 'me', bounds: GUESSES }]);
  await ctx.database.transaction(async (tx) => {
    await countNoLoginTry(tx, reservation);
    expect(await rowsRead(tx, 'rate_window')).toBeLessThan(10);
  });
  const [left] = await queryRows<{ n: number }>(
    ctx.db,
    sql`SELECT sum(used)::int AS n FROM hot.rate_window WHERE key LIKE 'login:me%'`,
  );
  expect(left?.n).toBe(0);
});

test('whether the tokens of open connections still work is found by their keys', async () => {
  await insertApiToken(ctx.db, { customerId, userId, kind: 'named', name: 'Mine', scopes: ['*'] });
  const [mine] = await queryRows<{ id: bigint }>(
    ctx.db,
    sql`SELECT id FROM api_token WHERE customer_id = ${customerId}`,
  );
  await ctx.db.execute(sql`
    WITH c AS (INSERT INTO customer (uid, name) SELECT 'c' || n, 'x' FROM generate_series(1, ${MANY}::int) n RETURNING id),
         u AS (INSERT INTO app_user (customer_id, uid, email, email_key, password_hash)
               SELECT id, 'u' || id, 'x' || id, 'x' || id, 'x' FROM c RETURNING customer_id, id)
    INSERT INTO api_token (customer_id, uid, user_id, kind, name, digest, scopes)
    SELECT customer_id, 't' || id, id, 'login', 'x', sha256(id::text::bytea), '{*}' FROM u`);
  await ctx.db.execute(sql`ANALYZE api_token`);
  await ctx.database.transaction(async (tx) => {
    const standing = await rightsOfTokens(tx, [{ customerId, tokenId: mine?.id ?? 0n }], {
      idle: 30,
      inAll: 90,
    });
    expect(standing).toEqual(new Map([[mine?.id, false]]));
    expect(await rowsRead(tx, 'api_token')).toBeLessThan(10);
  });
});
