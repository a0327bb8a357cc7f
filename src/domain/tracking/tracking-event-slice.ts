/** Which tracking events are moved together. */
import { BURST_GAP_MS } from './tracking-event.ts';

/** The columns of a row of `hot.tracking_event` that are needed to choose. */
export interface TrackingEventRow {
  readonly id: bigint;
  readonly size: number;
  readonly since: Date;
  readonly until: Date;
}

/**
 * One statement treats all clicks of a recipient as one burst: so no two tracking events of a slice are further apart than a
 * burst allows.
 */
export function sliceOf(rows: readonly TrackingEventRow[], sizeMax: number): readonly TrackingEventRow[] {
  const slice: TrackingEventRow[] = [];
  let size = 0;
  let since = Infinity;
  let until = -Infinity;
  for (const row of rows) {
    const from = Math.min(since, row.since.getTime());
    const to = Math.max(until, row.until.getTime());
    // A single row is always a slice.
    if (slice.length > 0 && to - from > BURST_GAP_MS) continue;
    if (slice.length > 0 && size + row.size > sizeMax) break;
    slice.push(row);
    size += row.size;
    since = from;
    until = to;
  }
  return slice;
}
