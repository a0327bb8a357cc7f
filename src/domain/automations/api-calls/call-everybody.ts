/** The job of a call for everybody who waits at an API-call node: a batch for each transaction. What was called is not called again. */
import { callEverybodyJob } from '../../../jobs/automation-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { inTransaction, type Context } from '../../context.ts';
import { automationStatus } from '../automation-store.ts';
import { callRuns } from './call-runs.ts';
import { versionsInOrder } from './called-run-store.ts';
import type { FlowPayload } from '../flow/flow-payload.ts';
import type { NodeKey } from '../runs/run.ts';

/** One transaction of some 100 ms. */
const RUNS_AT_ONCE = 1_000;
/** How often it is asked whether a paused flow goes on. */
const PAUSED_SECONDS = 60;

export interface CallForAll {
  readonly customerId: bigint;
  readonly automationId: bigint;
  readonly node: string;
  readonly payload: FlowPayload | null;
  readonly calledAt: Date;
}

/** It continues in another job when the process stops, and when the flow is paused meanwhile: pausing freezes (D85). */
export async function callEverybody(ctx: Context, call: CallForAll, isStopping: () => boolean): Promise<void> {
  const key = { customerId: call.customerId, automationId: call.automationId, node: call.node };
  for await (const version of versionsInOrder(ctx.db, key)) {
    const end = await callVersion(ctx, { ...key, version }, { call, isStopping });
    if (end === 'gone') return;
    if (end === 'done') continue;
    const again = { ...call, customerId: String(call.customerId), automationId: String(call.automationId) };
    return enqueue(ctx.db, callEverybodyJob, again, end === 'paused' ? { delaySeconds: PAUSED_SECONDS } : {});
  }
}

interface Work {
  readonly call: CallForAll;
  readonly isStopping: () => boolean;
}

async function callVersion(
  ctx: Context,
  key: NodeKey,
  { call: { payload, calledAt }, isStopping }: Work,
): Promise<'done' | 'stopped' | 'paused' | 'gone'> {
  for (let afterId = 0n; ;) {
    if (isStopping()) return 'stopped';
    const batch = { payload, calledAt, personId: null, afterId, max: RUNS_AT_ONCE };
    const called = await inTransaction(ctx, async (tx) => {
      const status = await automationStatus(tx.db, key, 'hold');
      if (status !== 'active') return status === undefined ? 'gone' : 'paused';
      return callRuns(tx, key, batch);
    });
    if (typeof called === 'string') return called;
    if (called.tooLarge.length > 0)
      ctx.log.warn('automations.payloads_too_large', { ...key, runs: called.tooLarge.length });
    if (called.lastId === undefined) return 'done';
    afterId = called.lastId;
  }
}
