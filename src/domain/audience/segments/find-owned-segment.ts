/** Finds a segment by its uid for the caller: own, foreign or unknown. */
import { isUid } from '../../../lib/ids.ts';
import { viewerOf, type Context } from '../../context.ts';
import { foreignSegment, segmentNotFound } from './segment-errors.ts';
import { findSegment, segmentExists } from './segment-store.ts';
import type { Segment } from './segment.ts';

/** The caller's segment. Throws NotFoundError `SEGMENT_NOT_FOUND`, ForeignResourceError of the same code. */
export async function findOwnedSegment(
  ctx: Context,
  uid: string,
  lock: 'none' | 'use' | 'change' = 'none',
): Promise<Segment> {
  if (!isUid(uid)) throw segmentNotFound();
  const segment = await findSegment(ctx.db, { customerId: viewerOf(ctx).customerId, uid }, lock);
  if (segment) return segment;
  throw (await segmentExists(ctx.db, uid)) ? foreignSegment() : segmentNotFound();
}
