/** Deletes a sender's address; campaigns that need it verified can no longer be started with it. */
import { isUid } from '../../../lib/ids.ts';
import { inTransaction, viewerOf, type Context } from '../../context.ts';
import { flowsOfSender } from '../../flow-uses/flow-use-read-model.ts';
import { addressUidExists, deleteAddressRow, findAddress } from './from-address-store.ts';
import { addressNotFound, addressOfFlows, foreignAddress } from './from-address.ts';

/**
 * Deletes the address. Throws NotFoundError `FROM_ADDRESS_NOT_FOUND`, ForeignResourceError of the same code, WrongStateError
 * `FROM_ADDRESS_IN_USE` while an active automation sends mails from it (D86).
 */
export async function deleteFromAddress(ctx: Context, { uid }: { uid: string }): Promise<{ uid: string }> {
  const { customerId } = viewerOf(ctx);
  if (!isUid(uid)) throw addressNotFound();
  return inTransaction(ctx, async ({ tx }) => {
    const address = await findAddress(tx, { customerId, uid });
    if (!address) throw (await addressUidExists(tx, uid)) ? foreignAddress() : addressNotFound();
    const flows = address.verifiedAt === null ? [] : await flowsOfSender(tx, { customerId, email: address.email });
    if (flows.length > 0) throw addressOfFlows(flows);
    await deleteAddressRow(tx, address);
    return { uid };
  });
}
