/** Locks of what a flow uses: nothing of it is deleted while the flow is being published (D86). */
import { sql, type Queryable } from '../../../db/database.ts';
import type { FlowUses } from './flow-uses.ts';

/**
 * Holds the list of the flow with its fields, and the lists, segments, templates and automations that it names, until the transaction ends. What is not there
 * is found by the checks of the flow, later in the transaction.
 */
export async function holdUses(
  db: Queryable,
  { customerId, listId }: { readonly customerId: bigint; readonly listId: bigint },
  { lists, segments, templates, automations }: FlowUses,
): Promise<void> {
  // As removing a field does not lock its row for others, the list's own lock is the stronger one: it waits for changes of its fields.
  await db.execute(
    sql`SELECT 1 FROM mail_list WHERE customer_id = ${customerId} AND (id = ${listId} OR uid = ANY (${[...lists]}::text[])) ORDER BY id FOR SHARE`,
  );
  await db.execute(
    sql`SELECT 1 FROM segment WHERE customer_id = ${customerId} AND uid = ANY (${[...segments]}::text[]) ORDER BY id FOR KEY SHARE`,
  );
  await db.execute(
    sql`SELECT 1 FROM template WHERE customer_id = ${customerId} AND uid = ANY (${[...templates]}::text[]) ORDER BY id FOR KEY SHARE`,
  );
  if (automations.length > 0)
    await db.execute(
      sql`SELECT 1 FROM automation WHERE customer_id = ${customerId} AND uid = ANY (${[...automations]}::text[]) ORDER BY id FOR KEY SHARE`,
    );
}
