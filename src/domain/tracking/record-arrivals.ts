/**
 * Records that messages of campaigns have arrived, all of a vendor's request together. It is the report that comes for nearly every
 * message, and mostly changes nothing: report-on-delivery.ts takes everything else.
 */
import type { Context } from '../context.ts';
import { SOURCE_KINDS, type DeliveryKey } from '../source-key.ts';
import { findArrivedDeliveries } from './arrival-store.ts';
import { deleteSoftBouncesOf } from './bounce-policy-store.ts';

const IS_SENT = 'sent';

/** Returns the places of the keys that are done with. For all others the report has to be taken alone. */
export async function recordArrivals({ db }: Context, keys: readonly DeliveryKey[]): Promise<ReadonlySet<number>> {
  if (keys.length === 0 || keys.some(({ sourceKind }) => sourceKind !== SOURCE_KINDS.campaign)) return new Set();
  const found = (await findArrivedDeliveries(db, keys)).filter(({ state, isTooOld }) => state === IS_SENT && !isTooOld);
  const people = found.flatMap(({ place, emailKey }) => {
    const customerId = keys[place]?.customerId;
    return emailKey === null || customerId === undefined ? [] : [{ customerId, emailKey }];
  });
  if (people.length > 0) await deleteSoftBouncesOf(db, people);
  return new Set(found.map(({ place }) => place));
}
