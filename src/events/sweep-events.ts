/** Cuts off followers that are too far behind, and deletes old events. */
import type { Queryable } from '../db/database.ts';
import type { Log } from '../lib/log.ts';
import { deleteOldEvents } from './event-store.ts';
import { cutOffFollowers, markBehind } from './follower-store.ts';

/** A follower this far behind is broken or abandoned: it must not keep events for ever. Less than the time for which events are kept. */
export const BEHIND_DAYS_MAX = 7;
/** For how long events are kept, unless the operator says otherwise. */
const EVENT_DAYS = 30;
/** Deleted in one statement: well under a second. */
const SLICE = 5_000;

/**
 * A follower that two of these jobs, an hour apart, find over 7 days behind gets no events any more; its owner is told in the log and in the checks of the installation.
 * Events older than `days` are deleted when all other followers have read them.
 */
export async function sweepEvents({ db, log }: { db: Queryable; log: Log }, days = EVENT_DAYS): Promise<void> {
  await markBehind(db, BEHIND_DAYS_MAX);
  for (const { name, owner } of await cutOffFollowers(db))
    log.error('events.follower_cut_off', { follower: name, owner, days: BEHIND_DAYS_MAX });
  while ((await deleteOldEvents(db, { days, max: SLICE })) === SLICE);
}
