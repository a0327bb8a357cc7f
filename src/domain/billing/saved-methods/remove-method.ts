/** Removing a saved payment method: here at once, at its vendor by a job that is repeated. */
import { isUid } from '../../../lib/ids.ts';
import { messageOf } from '../../../lib/errors.ts';
import { removeMethodJob } from '../../../jobs/billing-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import { viewerOf, type Context } from '../../context.ts';
import { foreignMethod, methodNotFound, onHold } from '../billing-errors.ts';
import { administers } from '../billing-rights.ts';
import { workOnCustomer } from '../billing-work.ts';
import { stopTriesOf } from './charge-time-store.ts';
import { paysRemote } from './method-read-model.ts';
import { gatewayOf } from '../gateways/gateway-of.ts';
import { unsealMethod } from '../gateways/gateway-secrets.ts';
import {
  findMethodByUid,
  findRemoved,
  eraseMethodData,
  markRemoved,
  type StoredMethod,
} from './payment-method-store.ts';

/** What the customer loses with it, and what to do. */
const PAID_REMOTE =
  'A subscription that the vendor keeps is paid with this method. The vendor cannot take the money for its next period any more, and the plan ends after the days of grace. Give the vendor another payment method for it before then, or cancel the subscription and choose the plan again.';

export interface RemovedMethod {
  readonly uid: string;
  /** What stops working without it; null: nothing but renewals that were charged to it here. */
  readonly warning: string | null;
}

/**
 * From now on it is not charged, and what it was declined for is not tried again. A charge that is under way is not stopped. Throws NotFoundError
 * `PAYMENT_METHOD_NOT_FOUND`, ForeignResourceError; WrongStateError `INSTALLATION_ON_HOLD`: at its vendor it is the original's.
 */
export async function removePaymentMethod(ctx: Context, { uid }: { uid: string }): Promise<RemovedMethod> {
  const found = isUid(uid) ? await findMethodByUid(ctx.db, uid) : undefined;
  if (!found) throw methodNotFound();
  if (found.customerId !== viewerOf(ctx).customerId && !administers(ctx)) throw foreignMethod();
  if (await installationHold(ctx.db)) throw onHold();
  const wasPaying = await workOnCustomer(ctx, found.customerId, async ({ ctx: { db }, at }) => {
    const pays = await paysRemote(db, found);
    if (!(await markRemoved(db, found, at))) return pays;
    await stopTriesOf(db, found);
    await enqueue(
      db,
      removeMethodJob,
      { customerId: String(found.customerId), methodUid: uid },
      { key: `remove-method:${uid}` },
    );
    return pays;
  });
  if (wasPaying) ctx.log.warn('billing.remote_method_removed', { method: uid, customer: String(found.customerId) });
  return { uid, warning: wasPaying ? PAID_REMOTE : null };
}

/** The job. Rejects when the vendor cannot be asked: the queue tries again. After the last try the log says that the vendor still has it. */
export async function removeMethodLater(
  ctx: Context,
  { customerId, methodUid: uid, isLastTry }: { customerId: bigint; methodUid: string; isLastTry: boolean },
): Promise<void> {
  const method = await findRemoved(ctx.db, { customerId, uid });
  if (!method) return;
  if (await installationHold(ctx.db)) throw onHold();
  try {
    await removeAtVendor(ctx, method);
  } catch (error) {
    if (!isLastTry) throw error;
    ctx.log.error('billing.method_left', { method: uid, customer: String(customerId), message: messageOf(error) });
  }
  await eraseMethodData(ctx.db, method);
}

/** Deletes it at its vendor, if that can be done. Throws when the vendor cannot be asked. */
export async function removeAtVendor(ctx: Context, method: StoredMethod): Promise<void> {
  const open = await gatewayOf(ctx, method);
  if (!open) throw new Error('The plugin of its payment gateway is not active.');
  if (!open.can('removeMethod')) return;
  const data = unsealMethod(ctx.installation.secret, method.uid, method.sealedData);
  await open.call(async (service) => service.removeMethod?.(data));
}
