/** Tells the webhooks `automation_webhook` who comes to an API-call node or a webhook node (D27), in the transaction of the step. */
import type { TransactionContext } from '../../context.ts';
import { fireAutomationWebhook } from '../../webhooks/fire-automation-webhook.ts';
import type { LiveFlow } from '../runs/live-flow.ts';
import { NEXT, type NodeWork, type Outcome } from './node-work.ts';
import type { Move, Place } from '../runs/run.ts';

/** A webhook node: tells it, and goes on. */
export async function fireWebhooks({ ctx, live, node, runs }: NodeWork<'webhook'>): Promise<readonly Outcome[]> {
  await fireAutomationWebhook(
    ctx.db,
    runs.map(({ personId }) => ({ ...automationOf(live), node: node.id, personId })),
  );
  return runs.map(() => NEXT);
}

interface Arriving {
  readonly run: { readonly personId: bigint };
  readonly to: Place | null;
  /** Absent: an entry. */
  readonly what?: Move['what'];
  readonly reason?: string | null;
}

/** Of those who come to API-call nodes: they wait there for the answer. */
export async function fireForArrivals(
  { db }: TransactionContext,
  live: LiveFlow,
  arriving: readonly Arriving[],
): Promise<void> {
  const calls = arriving.flatMap(({ run, to, what = 'passed', reason }) => {
    // Who stays without a reason was moved there while parked, and begins to wait only now.
    const isNew = what === 'passed' || (what === 'stays' && reason === null);
    if (!isNew || to === null || to.state === 'due' || live.graph.nodes.get(to.node)?.type !== 'api_call') return [];
    return [{ ...automationOf(live), node: to.node, personId: run.personId }];
  });
  await fireAutomationWebhook(db, calls);
}

function automationOf({ key: { automationId }, uid: automationUid }: LiveFlow) {
  return { automationId, automationUid };
}
