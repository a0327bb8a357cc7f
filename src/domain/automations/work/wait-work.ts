/** Nodes that wait: what is due here has waited long enough, unless a date has changed meanwhile (D76). */
import type { Outcome, NodeWork } from './node-work.ts';
import { NEXT } from './node-work.ts';
import { zoneOf } from '../runs/zones.ts';
import { endOfWaitUntil, LATE_MS } from '../flow/wake-time.ts';

export async function endWaits({ runs }: NodeWork<'wait'>): Promise<readonly Outcome[]> {
  return runs.map(() => NEXT);
}

/** Nothing came in time. */
export async function endWaitsForEvents({ runs }: NodeWork<'api_call'>): Promise<readonly Outcome[]> {
  return runs.map(() => ({ go: 'timeout' }));
}

export async function endWaitsForDates({
  node,
  runs,
  zones,
  now,
}: NodeWork<'wait_until'>): Promise<readonly Outcome[]> {
  return runs.map((run): Outcome => {
    const from = { since: run.since.getTime(), zone: zoneOf(zones, run.person) };
    const value = node.field === undefined ? undefined : run.person.fields[node.field];
    const end = endOfWaitUntil(node, from, value);
    if ('port' in end) return { go: end.port, reason: end.port, details: { value: value ?? null } };
    if (end.at > now.getTime()) return { waitUntil: new Date(end.at) };
    // The field may name an earlier date now than when the person came, or nobody worked for a day.
    if (node.weekdays === undefined && now.getTime() - end.at > LATE_MS) return { go: 'late', reason: 'late' };
    return NEXT;
  });
}
