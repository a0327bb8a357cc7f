/**
 * Lets people into another flow of the same list, by the rules of entry of that flow (D70). A refused entry is no fault: the person goes on,
 * and the history says why. Flows that start one another are at most so deep (D83).
 */
import { enterPeople } from '../entries/enter-people.ts';
import { entryKeyOf } from '../flow/entry-key.ts';
import { liveFlow } from '../runs/live-flow.ts';
import { failed, type NodeWork, type Outcome } from './node-work.ts';
import { holdStartedFlow } from '../flow/started-flow-store.ts';

export async function startFlow(work: NodeWork<'start_flow'>): Promise<readonly Outcome[]> {
  const { ctx, live, node, runs, now } = work;
  const { customerId } = live.key;
  const found = await holdStartedFlow(ctx.db, { customerId, listId: live.listId, uid: node.automationUid });
  if (!found) return runs.map(() => failed(work, 'flow_deleted'));
  const { automationId, version, isActive } = found;
  const started = isActive && version !== null ? await liveFlow(ctx, { customerId, automationId, version }) : undefined;
  if (!started) return runs.map(() => failed(work, 'flow_not_active'));
  const entrants = runs.map(({ personId, payload, depth }) => ({
    ...{ personId, payload, depth: depth + 1, reason: 'start_flow' },
    entryKey: entryKeyOf(payload, started.flow.entry),
  }));
  const answers = await enterPeople(ctx, started, { entrants, now });
  return answers.map((answer): Outcome => {
    if ('refused' in answer) return { go: 'next', reason: answer.refused };
    return { go: 'next', details: { automationUid: node.automationUid, run: String(answer.runId) } };
  });
}
