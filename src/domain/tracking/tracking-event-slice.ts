/** Which tracking events are moved on together. */
import { RUN_GAP_MS } from './tracking-event.ts';

/** One row of `hot.tracking_event`, as far as choosing needs it. */
export interface TrackingEventRow {
  readonly id: bigint;
  readonly size: number;
  readonly since: Date;
  readonly until: Date;
}

/** In one statement all clicks of a recipient count as one run: so no two tracking events of a slice are further apart than a run's. */
export function sliceOf(rows: readonly TrackingEventRow[], sizeMax: number): readonly TrackingEventRow[] {
  const slice: TrackingEventRow[] = [];
  let size = 0;
  let since = Infinity;
  let until = -Infinity;
  for (const row of rows) {
    const from = Math.min(since, row.since.getTime());
    const to = Math.max(until, row.until.getTime());
    // A row is one by itself, whatever it holds.
    if (slice.length > 0 && to - from > RUN_GAP_MS) continue;
    if (slice.length > 0 && size + row.size > sizeMax) break;
    slice.push(row);
    size += row.size;
    since = from;
    until = to;
  }
  return slice;
}
