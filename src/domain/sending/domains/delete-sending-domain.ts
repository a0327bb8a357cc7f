/** Deletes a sending domain with its keys; its campaigns continue without its signature. */
import { inTransaction, type Context } from '../../context.ts';
import { flowsOfSender } from '../../flow-uses/flow-use-read-model.ts';
import { findOwnedSendingDomain } from './find-owned-sending-domain.ts';
import { domainOfFlows } from './sending-domain-errors.ts';
import { deleteDomainRow } from './sending-domain-store.ts';

/** Deletes the domain. Throws WrongStateError `SENDING_DOMAIN_IN_USE` while an active automation sends from it (D86), NotFoundError, ForeignResourceError. */
export async function deleteSendingDomain(ctx: Context, { uid }: { uid: string }): Promise<{ uid: string }> {
  return inTransaction(ctx, async (tx) => {
    const domain = await findOwnedSendingDomain(tx, uid, { lock: true });
    const { customerId, name, status } = domain;
    const isSigning = status === 'verified' || status === 'failing';
    const flows = isSigning ? await flowsOfSender(tx.db, { customerId, domain: name }) : [];
    if (flows.length > 0) throw domainOfFlows(flows);
    await deleteDomainRow(tx.db, domain);
    return { uid };
  });
}
