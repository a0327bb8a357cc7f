/**
 * Deleting a customer, in two steps. One transaction makes it invisible: its users, tokens and logins are deleted, its address is
 * free, administrators no longer see it, nothing is sent for it. Then a job erases its data, slice by slice.
 */
import { sql } from '../../db/database.ts';
import { eraseCustomerJob } from '../../jobs/account-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { inTransaction, type Context } from '../context.ts';
import { auditInTransaction } from './audit-trail.ts';
import { knownCustomer, refuseOwnOrOperator } from './known-customer.ts';

/** Deletes it permanently. Throws NotFoundError; WrongStateError `CUSTOMER_IS_OPERATOR`, `CUSTOMER_IS_YOURS`. */
export async function deleteCustomer(ctx: Context, { uid }: { uid: string }): Promise<{ id: bigint; uid: string }> {
  return inTransaction(ctx, async (inner) => {
    const customer = await knownCustomer(inner, uid, { lock: true });
    refuseOwnOrOperator(inner, customer);
    const { id } = customer;
    // Its name and address may be a person's: they are deleted at once.
    await inner.db.execute(
      sql`UPDATE customer SET status = 'deleting', name = '', image = NULL, updated_at = now() WHERE id = ${id}`,
    );
    await inner.db.execute(sql`DELETE FROM login_token WHERE customer_id = ${id}`);
    await inner.db.execute(sql`DELETE FROM app_user WHERE customer_id = ${id}`);
    await enqueue(inner.db, eraseCustomerJob, { customerId: String(id) }, { key: `erase-customer:${id}` });
    await auditInTransaction(inner, { customerId: id, targetUid: uid });
    return { id, uid };
  });
}
