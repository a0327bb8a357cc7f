/**
 * The end of a wait for an event (D77). A person who arrives looks back once: what happened while the step was on its way was seen by nobody
 * else. Then the follower ends the wait (follow-flow.ts), or the time does; both hold the run's row, so one of them wins.
 */
import { firstEvents } from '../../events/person-event-read-model.ts';
import type { PersonEvent } from '../../events/person-event.ts';
import { isEventOf, sinceEntry, soughtBy, type Counting } from './flow-event.ts';
import type { NodeWork, Outcome } from './node-work.ts';
import type { Run } from './run.ts';
import { endOf } from './wake-time.ts';
import { zoneOf } from './zones.ts';

type WaitForEvent = NodeWork<'wait_for_event'>['node'];

/** Who has just entered the flow at this node waits since the event that brought them. */
export function countingOf({ countsFrom }: WaitForEvent, run: Run): Counting {
  const isFirst = run.since.getTime() === run.enteredAt.getTime();
  return countsFrom === 'entry' || isFirst ? sinceEntry(run) : { from: run.since, after: 0n };
}

export async function endWaitsForEvent(work: NodeWork<'wait_for_event'>): Promise<readonly Outcome[]> {
  const { ctx, live, zones, node, runs, now } = work;
  const searches = runs.map((run) => {
    const until = new Date(endOf(node.for, { since: run.since.getTime(), zone: zoneOf(zones, run.person) }));
    return { personId: run.personId, ...countingOf(node, run), until, entryKey: run.entryKey };
  });
  const list = { customerId: live.key.customerId, listId: live.listId };
  const sought = { ...list, ...soughtBy(node.event) };
  const found = await firstEvents(ctx.db, sought, {
    searches,
    isIt: (event, { entryKey }) => isEventOf(node.event, event, { entry: live.flow.entry, entryKey }),
  });
  return searches.map((search): Outcome => {
    const event = found.get(search);
    if (event) return { go: 'next', reason: node.event.type, details: detailsOf(event) };
    return search.until > now ? { waitUntil: search.until } : { go: 'timeout' };
  });
}

/** What the history shows of the event. */
export function detailsOf({ id, at }: PersonEvent): Readonly<Record<string, unknown>> {
  return { event: String(id), at };
}
