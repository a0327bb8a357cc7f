/**
 * New DKIM keys beside those that sign: when the DNS shows their records they replace the old ones, which are retired. Until then
 * no mail changes.
 */
import { inTransaction, type Context } from '../../context.ts';
import { algorithmsOf, makeKeys } from './create-sending-domain.ts';
import { findOwnedSendingDomain } from './find-owned-sending-domain.ts';
import { rotationUnderWay } from './sending-domain-errors.ts';
import { insertKey, keysOf } from './dkim-key-store.ts';
import type { SendingDomain } from './sending-domain.ts';

/** Makes the new keys. Throws WrongStateError `DKIM_ROTATION_UNDER_WAY`; NotFoundError, ForeignResourceError. */
export async function rotateDkimKeys(ctx: Context, { uid }: { uid: string }): Promise<SendingDomain> {
  const before = await findOwnedSendingDomain(ctx, uid);
  const keys = await makeKeys(ctx, algorithmsOf(before.usesEd25519));
  return inTransaction(ctx, async (tx) => {
    const domain = await findOwnedSendingDomain(tx, uid, { lock: true });
    if ((await keysOf(tx.db, domain)).some(({ status }) => status === 'new')) throw rotationUnderWay();
    for (const key of keys) await insertKey(tx.db, domain, key);
    return domain;
  });
}
