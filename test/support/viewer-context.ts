/** The context of a customer that is there already, as its only user sees the world. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { Context } from '../../src/domain/context.ts';

export async function viewerContext(ctx: Context, customerId: bigint): Promise<Context> {
  const [user] = await queryRows<{ id: bigint; uid: string }>(
    ctx.db,
    sql`SELECT id, uid FROM app_user WHERE customer_id = ${customerId} LIMIT 1`,
  );
  if (!user) throw new Error('The customer has no user.');
  const viewer = {
    ...{ userId: user.id, userUid: user.uid, customerId, isAdmin: false, scopes: ['*'] },
    ...{ tokenId: 0n, tokenUid: 't', tokenKind: 'primary' as const },
  };
  return { ...ctx, viewer };
}
