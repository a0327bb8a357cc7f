/**
 * The end of a wait for an event (D77). A person who arrives looks back once: what happened while the step was on its way was seen by nobody
 * else. Then the follower ends the wait (follow-flow.ts), or the time does; both hold the run's row, so one of them wins.
 */
import { eventsOfPeople } from '../../events/person-event-read-model.ts';
import type { PersonEvent } from '../../events/person-event.ts';
import { isEventOf, kindsOf } from './flow-event.ts';
import type { NodeWork, Outcome, PresentRun } from './node-work.ts';
import { endOf } from './wake-time.ts';
import { zoneOf } from './zones.ts';

type WaitForEvent = NodeWork<'wait_for_event'>['node'];

/** From when events count for this run. */
export function countsFrom({ countsFrom: from }: WaitForEvent, run: Pick<PresentRun, 'since' | 'enteredAt'>): Date {
  return from === 'entry' ? run.enteredAt : run.since;
}

export async function endWaitsForEvent({
  ctx,
  live,
  zones,
  node,
  runs,
  now,
}: NodeWork<'wait_for_event'>): Promise<readonly Outcome[]> {
  const since = new Date(Math.min(...runs.map((run) => countsFrom(node, run).getTime())));
  const events = await eventsOfPeople(ctx.db, {
    ...{ customerId: live.key.customerId, listId: live.listId, ids: runs.map(({ personId }) => personId), since },
    ...{ kinds: kindsOf(node.event), name: node.event.type === 'event' ? node.event.name : null },
  });
  const byPerson = Map.groupBy(events, ({ personId }) => personId);
  return runs.map((run): Outcome => {
    const end = endOf(node.for, { since: run.since.getTime(), zone: zoneOf(zones, run.person) });
    const from = countsFrom(node, run);
    const found = byPerson
      .get(run.personId)
      ?.find(
        (event) =>
          event.at >= from &&
          event.at.getTime() < end &&
          isEventOf(node.event, event, { entry: live.flow.entry, entryKey: run.entryKey }),
      );
    if (found) return { go: 'next', reason: node.event.type, details: detailsOf(found) };
    return end > now.getTime() ? { waitUntil: new Date(end) } : { go: 'timeout' };
  });
}

/** What the history shows of the event. */
export function detailsOf({ id, at }: PersonEvent): Readonly<Record<string, unknown>> {
  return { event: String(id), at };
}
