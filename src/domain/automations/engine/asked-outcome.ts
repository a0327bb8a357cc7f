/** What becomes of a run for which something was asked (RUN_REQUESTS), instead of its node's work. Pure. */
import { isDoneBefore } from '../runs/done-before.ts';
import type { FlowNode } from '../flow/flow-nodes.ts';
import { portsOf } from '../flow/flow-ports.ts';
import { PASSED_OVER, type Outcome } from '../work/node-work.ts';
import { placeAt, type Arrival } from '../runs/place-at.ts';
import { RUN_REQUESTS, type DueRun } from '../runs/run.ts';
import { endOf } from '../flow/wake-time.ts';
import { zoneOf } from '../runs/zones.ts';

/** Undefined: nothing was asked that this node can do. */
export function askedOutcome(node: FlowNode, run: DueRun, arrival: Arrival): Outcome | undefined {
  if (isDoneBefore(node, run)) return { go: portToSkip(node), reason: PASSED_OVER.doneBefore };
  switch (run.reason) {
    case RUN_REQUESTS.skip:
      return { go: portToSkip(node), reason: PASSED_OVER.skipped };
    case RUN_REQUESTS.skipMails:
      return node.type === 'send_mail' ? { go: 'next', reason: 'overdue' } : undefined;
    case RUN_REQUESTS.waitAnew: {
      const end = endOfNewWait(node, arrival);
      return end ? { waitUntil: end, reason: 'wait_anew' } : undefined;
    }
    default:
      return undefined;
  }
}

/** Undefined: the node does not wait, or its date has passed. Null is a wait without end, which is never late. */
function endOfNewWait(node: FlowNode, arrival: Arrival): Date | null | undefined {
  // Who arrives there is at work first: it looks back for the event.
  if (node.type === 'wait_for_event') {
    const { zones, person, now } = arrival;
    return new Date(endOf(node.for, { since: now.getTime(), zone: zoneOf(zones, person) }));
  }
  const { state, wakeAt } = placeAt(node, arrival);
  return state === 'waiting' ? wakeAt : undefined;
}

/** As if the node had done its work; a choice that cannot be made goes the last way, which is `no` of a condition. */
function portToSkip(node: FlowNode): string {
  const ports = portsOf(node);
  return ports.includes('next') ? 'next' : (ports.at(-1) ?? 'next');
}
