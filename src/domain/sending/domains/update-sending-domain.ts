/** Changes how a sending domain signs, its hosts, and whether it is the default domain. */
import { parseInput } from '../../../lib/text.ts';
import { administers } from '../../billing/billing-rights.ts';
import { inTransaction, type Context, type TransactionContext } from '../../context.ts';
import { makeKeys, type MadeKey } from './create-sending-domain.ts';
import { findOwnedSendingDomain } from './find-owned-sending-domain.ts';
import { defaultIsForAdministrators, sameHosts } from './sending-domain-errors.ts';
import { deleteNewKeys, insertKey, keysOf, moveKey } from './dkim-key-store.ts';
import { unsetDefault, updateDomainRow } from './sending-domain-store.ts';
import { updateSendingDomainInput, type SendingDomain, type UpdateSendingDomainInput } from './sending-domain.ts';

const ED25519 = 'ed25519-sha256';

/**
 * Changes the given values. A renamed host has to be found in the DNS again before it is used. Throws ValidationError on the
 * input; ForbiddenError, NotFoundError, ForeignResourceError.
 */
export async function updateSendingDomain(
  ctx: Context,
  { uid, ...input }: UpdateSendingDomainInput & { uid: string },
): Promise<SendingDomain> {
  const before = await findOwnedSendingDomain(ctx, uid);
  const wanted = parseInput(updateSendingDomainInput, input);
  if (typeof wanted.isDefault === 'boolean' && wanted.isDefault !== before.isDefault && !administers(ctx))
    throw defaultIsForAdministrators();
  const newKeys = wanted.usesEd25519 && !before.usesEd25519 ? await makeKeys(ctx, [ED25519]) : [];
  return inTransaction(ctx, async (tx) => {
    const domain = await findOwnedSendingDomain(tx, uid, { lock: true });
    const returnPathHost = hostOf(wanted.returnPathSubdomain, domain);
    const trackingHost = hostOf(wanted.trackingSubdomain, domain);
    const isRenamed = returnPathHost !== undefined || trackingHost !== undefined;
    if (isRenamed && (trackingHost ?? domain.trackingHost) === (returnPathHost ?? domain.returnPathHost))
      throw sameHosts();
    if (wanted.isDefault) await unsetDefault(tx.db);
    await switchEd25519(tx, domain, { isWanted: wanted.usesEd25519 ?? undefined, newKeys });
    await updateDomainRow(tx.db, domain, {
      isDefault: wanted.isDefault ?? undefined,
      usesEd25519: wanted.usesEd25519 ?? undefined,
      returnPathHost,
      trackingHost,
      ...(returnPathHost !== undefined && returnPathHost !== domain.returnPathHost ? { returnPathReady: false } : {}),
      ...(trackingHost !== undefined && trackingHost !== domain.trackingHost ? { trackingUrl: '' } : {}),
    });
    return domain;
  });
}

function hostOf(subdomain: string | null | undefined, { name }: SendingDomain): string | undefined {
  return typeof subdomain === 'string' ? `${subdomain}.${name}` : undefined;
}

async function switchEd25519(
  { db }: TransactionContext,
  domain: SendingDomain,
  { isWanted, newKeys }: { isWanted: boolean | undefined; newKeys: readonly MadeKey[] },
): Promise<void> {
  if (isWanted === undefined || isWanted === domain.usesEd25519) return;
  for (const key of newKeys) await insertKey(db, domain, key);
  if (isWanted) return;
  await deleteNewKeys(db, domain, ED25519);
  for (const key of await keysOf(db, domain)) {
    if (key.algorithm === ED25519 && key.status === 'active') await moveKey(db, domain, { id: key.id, to: 'retired' });
  }
}
