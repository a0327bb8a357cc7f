/** Deleting a payment gateway: at once when its vendor has nothing of it, else after a job has closed that there (close-gateway.ts). */
import { closeGatewayJob } from '../../../jobs/billing-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { installationHold } from '../../accounts/installation-hold-read-model.ts';
import { inTransaction, type Context } from '../../context.ts';
import { onHold } from '../billing-errors.ts';
import { requireAdministrator } from '../billing-rights.ts';
import { gatewayInUse, gatewayKeepsSubscriptions, offlineStays } from './payment-gateway-errors.ts';
import {
  allGateways,
  countCharging,
  countRemotes,
  deleteGatewayRow,
  leftAtVendor,
  updateGatewayRow,
} from './payment-gateway-store.ts';
import { OFFLINE } from './payment-gateway.ts';
import { knownGateway } from './save-gateway.ts';

export interface DeletedGateway {
  readonly uid: string;
  /** False: it is inactive for good, and gone when its vendor has been told. */
  readonly isDeleted: boolean;
}

/**
 * Deletes it. Throws WrongStateError `PAYMENT_GATEWAY_OFFLINE`, `PAYMENT_GATEWAY_IN_USE` while money may be moving or its vendor keeps subscriptions, `INSTALLATION_ON_HOLD` when its
 * vendor would have to be asked; NotFoundError.
 */
export async function deleteGateway(ctx: Context, { uid }: { uid: string }): Promise<DeletedGateway> {
  requireAdministrator(ctx);
  return inTransaction(ctx, async (tx) => {
    const gateway = await knownGateway(tx, uid, true);
    const offline = (await allGateways(tx.db)).filter(({ type }) => type === OFFLINE);
    if (gateway.type === OFFLINE && offline.length === 1) throw offlineStays();
    const charging = await countCharging(tx.db, gateway);
    if (charging > 0) throw gatewayInUse(charging);
    const remotes = await countRemotes(tx.db, gateway);
    if (remotes > 0) throw gatewayKeepsSubscriptions(remotes);
    const { methods, payments, subscriptions } = await leftAtVendor(tx.db, gateway);
    if (gateway.type === OFFLINE || methods + payments + subscriptions === 0) {
      await deleteGatewayRow(tx.db, gateway);
      return { uid, isDeleted: true };
    }
    if (await installationHold(tx.db)) throw onHold();
    const deletingAt = gateway.deletingAt ?? ctx.clock.now();
    await updateGatewayRow(tx.db, gateway, { status: 'inactive', deletingAt });
    await enqueue(tx.db, closeGatewayJob, { gatewayUid: uid }, { key: `close-gateway:${uid}` });
    return { uid, isDeleted: false };
  });
}

/** Why nothing can be paid through a gateway that is being deleted, and what its vendor still has; null: it is not being deleted. */
export async function deletionOf(ctx: Context, uid: string): Promise<string | null> {
  const gateway = await knownGateway(ctx, uid);
  if (gateway.deletingAt === null) return null;
  const { methods, payments, subscriptions } = await leftAtVendor(ctx.db, gateway);
  return `It is being deleted. Its vendor still has ${methods} saved payment methods, ${payments} payments that can be paid and ${subscriptions} subscriptions; they are removed there.`;
}
