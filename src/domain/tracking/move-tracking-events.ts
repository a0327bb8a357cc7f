/**
 * Moves tracking events from the table in which requests stored them: events, what each recipient did, and every counter beside them,
 * in one statement for thousands of tracking events, so that no page ever counts rows. The tracking events are deleted in the same
 * transaction: each is moved exactly once, even after a crash. Tracking events of campaigns or people that are gone leave no trace.
 *
 * What counts. Every display of the pixel is an open. A click is counted unless a program fetched the link in advance
 * (HEAD, prefetch); such a click is kept as an event. A click proves reading: a recipient whose pixel was blocked is counted as
 * having opened once, where the campaign counts opens at all.
 *
 * What people did, without machines, has its own counters (decision record 0074). An open or click is a machine's if the request
 * says so or comes from a mail gateway's network (machine-request.ts), or if it comes sooner after the delivery than a person can. A
 * click burst is a machine's if it has clicks of three different links, or of both where a message has two. Its first clicks may
 * have been counted as a person's: when the burst is recognised, they are marked and subtracted.
 */
import type { Context } from '../context.ts';
import type { Transaction } from '../../db/database.ts';
import { announceSourceChange } from '../statistics/announce-campaign-change.ts';
import { beginMoving, markMachineClicks, moveEvents, waitingTrackingEvents } from './move-tracking-events-store.ts';
import { sliceOf, type TrackingEventRow } from './tracking-event-slice.ts';

export interface MoveOptions {
  /** Rows with smaller ids are not searched, so that dead ones need not be skipped every time. */
  readonly fromId?: bigint;
  /** At most about so many tracking events. */
  readonly sizeMax?: number;
}

export interface Moved {
  /** Tracking events that were moved; 0 when none wait, or when another process moves them. */
  readonly trackingEvents: number;
  /** The smallest id that was there; undefined when none was. */
  readonly firstId: bigint | undefined;
  readonly isAnotherAtIt: boolean;
  /** Some older ones are left. */
  readonly isMore: boolean;
  /** How long the oldest of them had waited. */
  readonly lagMs: number;
}

/**
 * Measured: 4,000 at once cost the database a third less each than 500, more of them hardly less; and the counters of a campaign
 * are locked for a tenth of a second.
 */
export const MOVE_SIZE_MAX = 4_000;

const NONE_OF_OURS: Moved = { trackingEvents: 0, firstId: undefined, isAnotherAtIt: true, isMore: false, lagMs: 0 };

/** Moves some tracking events, the oldest first, then notifies the live statistics. One process does so at a time. */
export async function moveTrackingEvents(
  ctx: Context,
  { fromId = 0n, sizeMax = MOVE_SIZE_MAX }: MoveOptions = {},
): Promise<Moved> {
  return ctx.database.transaction(async (tx) => {
    if (!(await beginMoving(tx))) return NONE_OF_OURS;
    const waiting = await waitingTrackingEvents(tx, fromId);
    const slice = sliceOf(waiting, sizeMax);
    if (slice.length > 0) await move(ctx, tx, slice);
    const trackingEvents = slice.reduce((sum, { size }) => sum + size, 0);
    const [first] = waiting;
    const isMore = slice.length < waiting.length;
    return { trackingEvents, firstId: first?.id, isAnotherAtIt: false, isMore, lagMs: first?.lagMs ?? 0 };
  });
}

/**
 * The events of a burst are marked by a separate statement: what an unsubscribe has written while ours waited for the recipient's
 * row is not in the snapshot of ours.
 */
async function move(ctx: Context, tx: Transaction, slice: readonly TrackingEventRow[]): Promise<void> {
  const rows = await moveEvents(tx, slice);
  const bursts = rows.filter(({ since }) => since !== null);
  if (bursts.length > 0) await markMachineClicks(tx, bursts);
  for (const source of rows) if (source.since === null) tx.afterCommit(() => announceSourceChange(ctx, source));
}
