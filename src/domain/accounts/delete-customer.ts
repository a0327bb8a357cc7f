/**
 * Deleting a customer, in two steps. One transaction makes it invisible: its users, tokens and logins are deleted, its address is
 * free, administrators no longer see it, nothing is sent for it. Then a job erases its data, slice by slice.
 */
import { eraseCustomerJob } from '../../jobs/account-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { inTransaction, type Context } from '../context.ts';
import { auditInTransaction } from './audit-trail.ts';
import { hideCustomer } from './customer-store.ts';
import { knownCustomer, refuseOwnOrOperator } from './known-customer.ts';
import { deleteLinksOfCustomer } from './login-link-store.ts';
import { deleteUsers } from './user-store.ts';

/** Deletes it permanently. Throws NotFoundError; WrongStateError `CUSTOMER_IS_OPERATOR`, `CUSTOMER_IS_YOURS`. */
export async function deleteCustomer(ctx: Context, { uid }: { uid: string }): Promise<{ id: bigint; uid: string }> {
  return inTransaction(ctx, async (inner) => {
    const customer = await knownCustomer(inner, uid, { lock: true });
    refuseOwnOrOperator(inner, customer);
    const { id } = customer;
    await hideCustomer(inner.db, id);
    await deleteLinksOfCustomer(inner.db, id);
    await deleteUsers(inner.db, id);
    await enqueue(inner.db, eraseCustomerJob, { customerId: String(id) }, { key: `erase-customer:${id}` });
    await auditInTransaction(inner, { customerId: id, targetUid: uid });
    return { id, uid };
  });
}
