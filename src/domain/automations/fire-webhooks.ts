/** Tells the webhooks `automation_webhook` who comes to an API-call node or a webhook node (D27), in the transaction of the step. */
import type { TransactionContext } from '../context.ts';
import { fireAutomationWebhook } from '../webhooks/fire-automation-webhook.ts';
import type { LiveFlow } from './live-flow.ts';
import { NEXT, type NodeWork, type Outcome } from './node-work.ts';
import type { Move, Place } from './run.ts';

/** A webhook node: tells it, and goes on. */
export async function fireWebhooks({ ctx, live, runs }: NodeWork<'webhook'>): Promise<readonly Outcome[]> {
  const { automationId } = live.key;
  await fireAutomationWebhook(
    ctx.db,
    runs.map(({ personId }) => ({ automationId, personId })),
  );
  return runs.map(() => NEXT);
}

interface Arriving {
  readonly run: { readonly personId: bigint };
  readonly to: Place | null;
  /** Absent: an entry. */
  readonly what?: Move['what'];
}

/** Of those who come to API-call nodes: they wait there for the answer. */
export async function fireForArrivals(
  { db }: TransactionContext,
  { key, graph }: LiveFlow,
  arriving: readonly Arriving[],
): Promise<void> {
  const calls = arriving.flatMap(({ run, to, what = 'passed' }) => {
    const waits = to !== null && what === 'passed' && graph.nodes.get(to.node)?.type === 'api_call';
    return waits ? [{ automationId: key.automationId, personId: run.personId }] : [];
  });
  await fireAutomationWebhook(db, calls);
}
