/** Tenants for tests of verbs: a context whose caller is the user of a fresh customer, and inputs that are right. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { Context } from '../../src/domain/context.ts';
import { createList } from '../../src/domain/audience/create-list.ts';
import type { CreateListInput, MailList } from '../../src/domain/audience/list-fields.ts';
import { newUid } from '../../src/lib/ids.ts';
import { giveUnlimitedPlan } from './plans.ts';

/** The same world, seen by the user of a new customer, whom no plan limits; or who has no plan. */
export async function createTenant(ctx: Context, { hasPlan = true }: { hasPlan?: boolean } = {}): Promise<Context> {
  const [row] = await queryRows<{ customer_id: bigint; id: bigint; uid: string }>(
    ctx.db,
    sql`
    WITH c AS (INSERT INTO customer (uid, name) VALUES (${newUid()}, 'Tenant') RETURNING id)
    INSERT INTO app_user (customer_id, uid, email, email_key, password_hash)
    SELECT id, ${newUid()}, 'u' || id || '@tenant.example', 'u' || id || '@tenant.example', 'x' FROM c
    RETURNING customer_id, id, uid`,
  );
  if (!row) throw new Error('No tenant was made.');
  if (hasPlan) await giveUnlimitedPlan(ctx.db, row.customer_id);
  const viewer = {
    userId: row.id,
    userUid: row.uid,
    customerId: row.customer_id,
    tokenId: 0n,
    tokenUid: '0000000000000',
    tokenKind: 'primary' as const,
    isAdmin: false,
    scopes: ['*'],
  };
  return { ...ctx, viewer, ipAddress: '192.0.2.7' };
}

export function rightListInput(changes: Partial<CreateListInput> = {}): CreateListInput {
  return {
    name: 'Friends',
    fromEmail: 'news@sender.example',
    fromName: 'Sender',
    defaultSubject: 'News',
    contact: {
      ...{
        company: 'Acme',
        address1: '1 High Street',
        city: 'Springfield',
        state: 'CA',
        zip: '12345',
        phone: '+1 555 0100',
      },
      ...{ countryId: 1, email: 'office@sender.example' },
    },
    ...changes,
  };
}

export function newList(ctx: Context, changes: Partial<CreateListInput> = {}): Promise<MailList> {
  return createList(ctx, rightListInput(changes));
}
