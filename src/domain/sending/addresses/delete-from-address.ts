/** Deletes a sender's address; campaigns that need it verified can no longer be started with it. */
import { isUid } from '../../../lib/ids.ts';
import { inTransaction, viewerOf, type Context } from '../../context.ts';
import { addressUidExists, deleteAddressRow, findAddress } from './from-address-store.ts';
import { addressNotFound, foreignAddress } from './from-address.ts';

/** Deletes the address. Throws NotFoundError `FROM_ADDRESS_NOT_FOUND`, ForeignResourceError of the same code. */
export async function deleteFromAddress(ctx: Context, { uid }: { uid: string }): Promise<{ uid: string }> {
  const { customerId } = viewerOf(ctx);
  if (!isUid(uid)) throw addressNotFound();
  return inTransaction(ctx, async ({ tx }) => {
    const address = await findAddress(tx, { customerId, uid });
    if (!address) throw (await addressUidExists(tx, uid)) ? foreignAddress() : addressNotFound();
    await deleteAddressRow(tx, address);
    return { uid };
  });
}
