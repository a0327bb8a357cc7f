/**
 * Disabling and enabling a customer. A disabled customer's tokens are refused at once and its logins end; its campaigns are
 * paused and stay so, because last month's newsletter must not be sent automatically when the customer is enabled again (decision
 * record 0050). Subscriptions that vendors keep for it are cancelled there (0450). Clicks and web views of its mails stop (disabled-customers.ts); people can still unsubscribe.
 */
import { pauseCustomerCampaignsJob } from '../../jobs/account-jobs.ts';
import { withdrawRemotesJob } from '../../jobs/billing-jobs.ts';
import { enqueue } from '../../jobs/define-job.ts';
import { inTransaction, type Context, type TransactionContext } from '../context.ts';
import { auditInTransaction } from './audit-trail.ts';
import { writeCustomerStatus } from './customer-store.ts';
import type { Customer } from './customer.ts';
import { endOtherLogins } from './end-other-logins.ts';
import { knownCustomer, refuseOwnOrOperator } from './known-customer.ts';
import { userIdsOf } from './user-store.ts';

/** Before other jobs, so that sending stops soon. */
const PAUSE_PRIORITY = -100;

/** Disables it; repeating it is harmless. Throws NotFoundError; WrongStateError `CUSTOMER_IS_OPERATOR`, `CUSTOMER_IS_YOURS`. */
export async function disableCustomer(ctx: Context, { uid }: { uid: string }): Promise<{ id: bigint; uid: string }> {
  return inTransaction(ctx, async (inner) => {
    const customer = await knownCustomer(inner, uid, { lock: true });
    refuseOwnOrOperator(inner, customer);
    await writeCustomerStatus(inner.db, customer.id, 'disabled');
    await endLogins(inner, customer);
    await enqueue(
      inner.db,
      pauseCustomerCampaignsJob,
      { customerId: String(customer.id) },
      { priority: PAUSE_PRIORITY, key: `pause-of-customer:${customer.id}` },
    );
    const payload = { customerId: String(customer.id) };
    await enqueue(inner.db, withdrawRemotesJob, payload, { key: `withdraw-remotes-of-customer:${customer.id}` });
    await auditInTransaction(inner, { customerId: customer.id, targetUid: uid });
    return { id: customer.id, uid };
  });
}

/** Enables it; repeating it is harmless. Throws NotFoundError `CUSTOMER_NOT_FOUND`. */
export async function enableCustomer(ctx: Context, { uid }: { uid: string }): Promise<{ id: bigint; uid: string }> {
  return inTransaction(ctx, async (inner) => {
    const customer = await knownCustomer(inner, uid, { lock: true });
    await writeCustomerStatus(inner.db, customer.id, 'active');
    await auditInTransaction(inner, { customerId: customer.id, targetUid: uid });
    return { id: customer.id, uid };
  });
}

async function endLogins({ db }: TransactionContext, { id }: Customer): Promise<void> {
  for (const userId of await userIdsOf(db, id)) await endOtherLogins(db, { customerId: id, userId });
}
