/**
 * Erases one person: at once from every list, so that no further mail is sent, and by a job from everything that mails and clicks
 * left behind. A keyed digest stays, so that no import or program can add the person again.
 */
import { z } from 'zod';
import { enqueue } from '../../../jobs/define-job.ts';
import { erasePersonJob } from '../../../jobs/audience-jobs.ts';
import { deriveKey, seal, unseal } from '../../../lib/crypto.ts';
import { ForbiddenError, NotFoundError } from '../../../lib/errors.ts';
import { isUid, newUid } from '../../../lib/ids.ts';
import { emailAddress, emailKey, parseInput } from '../../../lib/text.ts';
import { holdsScope } from '../../accounts/scopes.ts';
import { inTransaction, viewerOf, type Context, type Installation } from '../../context.ts';
import { lockLists } from '../list-store.ts';
import { deleteNoticesOf } from '../mails/unsubscribe-notice-store.ts';
import { eraseSubscriber, lockByAddress } from '../subscriber-store.ts';
import { deleteSuppressions } from '../suppression-store.ts';
import { EVERY_CUSTOMER } from '../suppression.ts';
import { addressDigest, rememberErased } from './erased-person-store.ts';
import { findErasure, insertErasure, type Erasure } from './erasure-store.ts';

export interface ErasePersonInput {
  readonly email: string;
  /** From the lists of every customer; for administrators. */
  readonly everywhere?: boolean | null | undefined;
}

/** Binds an encrypted address to its row. */
export function sealContext(customerId: bigint, uid: string): string {
  return `erasure:${customerId}:${uid}`;
}

export function sealKey({ secret }: Installation): Buffer {
  return deriveKey(secret, 'erasure');
}

/**
 * Erases the person with this address on all lists of the caller; a person on no list is recorded as erased all the same. Throws
 * ValidationError on `email`, ForbiddenError.
 */
export async function erasePerson(ctx: Context, input: ErasePersonInput): Promise<Erasure> {
  const { userId, customerId, isAdmin, scopes } = viewerOf(ctx);
  const key = emailKey(parseInput(z.object({ email: emailAddress() }), input).email);
  if (input.everywhere && (!isAdmin || !holdsScope(scopes, 'admin')))
    throw new ForbiddenError('FORBIDDEN', 'Only an administrator can erase a person for every customer.');
  const whose = input.everywhere ? EVERY_CUSTOMER : customerId;
  return eraseFromLists(ctx, { whose, key, userId });
}

function eraseFromLists(
  ctx: Context,
  { whose, key, userId }: { whose: bigint; key: string; userId: bigint },
): Promise<Erasure> {
  return inTransaction(ctx, async ({ db }) => {
    // Transactions that add people lock the list: those are waited for, and later ones see the digest.
    await lockLists(db, whose);
    const isSuppressed = await deleteSuppressions(db, whose, key);
    await rememberErased(db, { customerId: whose, digest: addressDigest(ctx.installation, key) }, isSuppressed);
    const people = await lockByAddress(db, whose, key);
    for (const person of people) {
      await eraseSubscriber(db, person);
      await deleteNoticesOf(db, person);
    }
    const uid = newUid();
    const sealed = seal(sealKey(ctx.installation), key, sealContext(whose, uid));
    const subscriberIds = people.map(({ id }) => id);
    const erasure = await insertErasure(db, { customerId: whose, uid, sealed, subscriberIds, userId });
    await enqueue(db, erasePersonJob, { customerId: String(whose), erasureId: String(erasure.id) });
    return erasure;
  });
}

/** The state of an erasure of the caller; administrators also see those for every customer. Throws NotFoundError. */
export async function findOwnedErasure(ctx: Context, uid: string): Promise<Erasure> {
  const { customerId, isAdmin } = viewerOf(ctx);
  const whose = isAdmin ? [customerId, EVERY_CUSTOMER] : [customerId];
  const erasure = isUid(uid) ? await findErasure(ctx.db, whose, uid) : undefined;
  if (!erasure) throw new NotFoundError('ERASURE_NOT_FOUND', 'There is no such erasure.');
  return erasure;
}

/** The address of an erasure that is under way. */
export function sealedAddress(installation: Installation, row: { customerId: bigint; uid: string; sealed: Buffer }) {
  return unseal(sealKey(installation), row.sealed, sealContext(row.customerId, row.uid));
}
