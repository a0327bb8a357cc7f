/**
 * The end of a wait for an event (D77). A person who arrives looks back once: what happened while the step was on its way was seen by nobody
 * else. Then the follower ends the wait (follow-flow.ts), or the time does; both hold the run's row, so one of them wins. What counts only
 * after some seconds (an open, a click) is waited for as much longer.
 */
import { SETTLED_SECONDS } from './activity-read-model.ts';
import { firstOf } from '../runs/first-of.ts';
import { isActivity } from '../flow/asked-activity.ts';
import { sinceEntry, type Counting } from '../runs/flow-event.ts';
import type { NodeWork, Outcome } from './node-work.ts';
import type { FlowEvent } from '../flow/open-or-click.ts';
import type { Run } from '../runs/run.ts';
import { endOf } from '../flow/wake-time.ts';
import { zoneOf } from '../runs/zones.ts';

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
    return { run, runId: run.id, personId: run.personId, ...countingOf(node, run), until };
  });
  const found = await firstOf(ctx, live, { asked: node.event, searches });
  return searches.map((search): Outcome => {
    const event = found.get(search);
    if (event) return { go: 'next', reason: node.event.type, details: detailsOf(event) };
    const end = isActivity(node.event) ? new Date(search.until.getTime() + SETTLED_SECONDS * 1_000) : search.until;
    return end > now ? { waitUntil: end } : { go: 'timeout' };
  });
}

/** What the history shows of the event. */
export function detailsOf({ id, at }: Pick<FlowEvent, 'id' | 'at'>): Readonly<Record<string, unknown>> {
  return { event: String(id), at };
}
