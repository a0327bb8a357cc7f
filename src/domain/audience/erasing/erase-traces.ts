/**
 * The second half of erasing a person: rejected lines, the ledger, events. One statement after the other, each by
 * itself and each harmless to repeat; the row of the erasure forgets the person last.
 */
import { enqueue } from '../../../jobs/define-job.ts';
import { erasePersonJob } from '../../../jobs/audience-jobs.ts';
import type { Context } from '../../context.ts';
import { EVERY_CUSTOMER } from '../suppression.ts';
import { sealedAddress } from './erase-person.ts';
import { endErasure, mayBeMarked, openErasure } from './erasure-store.ts';
import {
  allCustomers,
  eraseFrom,
  eraseFromInbox,
  eraseFromLinks,
  findPerson,
  isUnderWay,
  PERSONAL_PLACES,
} from './personal-data-store.ts';

/**
 * A message that is being handed over now is answered by then, or its worker's lease has run out: of a dead worker and
 * a campaign that was paused since, the row stays as it is until somebody resumes it, and is not waited for.
 */
const UNDER_WAY_SECONDS = 60;

/**
 * Erases what an erasure has left to do. Repeating it, or two at once, is harmless. While a message to the person is
 * being handed over it comes back later: the server's answer, which may name the address, is yet to be written. So it does
 * while a tracking event of the person waits to be counted.
 */
export async function eraseTraces(ctx: Context, { customerId, id }: { customerId: bigint; id: bigint }): Promise<void> {
  const open = await openErasure(ctx.db, customerId, id);
  if (!open) return;
  const emailKey = sealedAddress(ctx.installation, open);
  const customerIds = customerId === EVERY_CUSTOMER ? await allCustomers(ctx.db) : [customerId];
  const known = { emailKey, customerIds, subscriberIds: open.subscriberIds };
  const person = await findPerson(ctx.db, known);
  // Before anything is erased: what is not on its way now cannot leave anything behind later.
  const comesBack = (await mayBeMarked(ctx.db, open.begunAt)) || (await isUnderWay(ctx.db, person));
  for (const place of PERSONAL_PLACES) await eraseFrom(ctx.db, place, person);
  await eraseFromLinks(ctx.db, person);
  await eraseFromInbox(ctx.db, person);
  if (comesBack) {
    const payload = { customerId: String(customerId), erasureId: String(id) };
    return enqueue(ctx.db, erasePersonJob, payload, { delaySeconds: UNDER_WAY_SECONDS, key: `audience.erase:${id}` });
  }
  await endErasure(ctx.db, customerId, id);
  ctx.log.info('audience.person_erased', { erasure: open.uid });
}
