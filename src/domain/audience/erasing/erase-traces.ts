/**
 * The second half of erasing a person: rejected lines, the ledger, events. One statement after the other, each harmless to
 * repeat; the row of the erasure loses the person's data last.
 */
import { enqueue } from '../../../jobs/define-job.ts';
import { erasePersonJob } from '../../../jobs/audience-jobs.ts';
import type { Context } from '../../context.ts';
import { EVERY_CUSTOMER } from '../suppression.ts';
import { sealedAddress } from './erase-person.ts';
import { endErasure, isMarkRunning, openErasure } from './erasure-store.ts';
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
 * A message in flight is answered by then, or its worker's lease has ended. If the worker died and the campaign was paused since,
 * the row stays until somebody resumes the campaign, and is not waited for.
 */
const UNDER_WAY_SECONDS = 60;

/**
 * Erases the rest of an erasure. Repeating it, or two at once, is harmless. While a message to the person is in flight it is
 * repeated later, because the server's answer, which may contain the address, is not written yet. The same while a tracking event
 * of the person waits to be counted.
 */
export async function eraseTraces(ctx: Context, { customerId, id }: { customerId: bigint; id: bigint }): Promise<void> {
  const open = await openErasure(ctx.db, customerId, id);
  if (!open) return;
  const emailKey = sealedAddress(ctx.installation, open);
  const customerIds = customerId === EVERY_CUSTOMER ? await allCustomers(ctx.db) : [customerId];
  const known = { emailKey, customerIds, subscriberIds: open.subscriberIds };
  const person = await findPerson(ctx.db, known);
  // Before anything is erased: what is not in flight now cannot leave anything behind later.
  const comesBack = (await isMarkRunning(ctx.db, open.begunAt)) || (await isUnderWay(ctx.db, person));
  for (const place of PERSONAL_PLACES) if (!(comesBack && place.waits)) await eraseFrom(ctx.db, place, person);
  await eraseFromLinks(ctx.db, person);
  await eraseFromInbox(ctx.db, person);
  if (comesBack) {
    const payload = { customerId: String(customerId), erasureId: String(id) };
    return enqueue(ctx.db, erasePersonJob, payload, { delaySeconds: UNDER_WAY_SECONDS, key: `audience.erase:${id}` });
  }
  await endErasure(ctx.db, customerId, id);
  ctx.log.info('audience.person_erased', { erasure: open.uid });
}
