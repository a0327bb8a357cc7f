/** Nodes that wait: what is due here has waited long enough, unless a date has changed meanwhile (D76). */
import type { Outcome, NodeWork, PresentRun } from './node-work.ts';
import { NEXT } from './node-work.ts';
import { placeAt } from '../runs/place-at.ts';
import { zoneOf } from '../runs/zones.ts';
import { endOfWaitUntil, LATE_MS } from '../flow/wake-time.ts';

export async function endWaits(work: NodeWork<'wait'>): Promise<readonly Outcome[]> {
  return work.runs.map((run) => restOfWait(work, run) ?? NEXT);
}

/** Nothing came in time. */
export async function endWaitsForEvents(work: NodeWork<'api_call'>): Promise<readonly Outcome[]> {
  return work.runs.map((run) => restOfWait(work, run) ?? { go: 'timeout' });
}

/** Who was parked, was moved to a wait (D84), and is tried again, has not waited there yet. Undefined: the wait is over. */
function restOfWait(
  { live, node, zones, now }: Pick<NodeWork, 'live' | 'node' | 'zones' | 'now'>,
  { isAtWork = false, person, since }: PresentRun,
): Outcome | undefined {
  if (!isAtWork) return undefined;
  const { wakeAt } = placeAt(node, { live, zones, person, now: since });
  return wakeAt === null || wakeAt > now ? { waitUntil: wakeAt } : undefined;
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
