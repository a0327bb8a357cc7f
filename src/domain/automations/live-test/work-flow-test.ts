/**
 * The job of a live test of a flow: its steps up to the next wait, each wait some seconds. A step, its mail and where the test stands then are one
 * transaction: a process that dies has taken it or not.
 */
import { messageOf } from '../../../lib/errors.ts';
import { UnavailableConditionError } from '../../audience/segments/segment-errors.ts';
import { inTransaction, type Context, type TransactionContext } from '../../context.ts';
import type { AnswersByQuestion } from '../../audience/segments/segment.ts';
import { databaseNow } from '../runs/clock-read-model.ts';
import { rulesIn } from '../dry-run/dry-run-automation.ts';
import { FLOW_TEST_STEPS_MAX } from './flow-test.ts';
import type { FlowTestKey } from './flow-test-read-model.ts';
import { stepOfTest, type Stepped } from './flow-test-step.ts';
import { endFlowTest, lockFlowTest, readFlowTest, writeFlowTest, type FlowTestWork } from './flow-test-store.ts';
import { liveFlowOf, type LiveFlow } from '../runs/live-flow.ts';
import { answersToRules } from '../work/rule-answers.ts';
import { enqueueFlowTest } from './test-automation.ts';
import { zonesOfList } from '../runs/version-read-model.ts';
import { rulesOfWaysOut } from '../engine/ways-out.ts';

interface Working {
  readonly isStopping: () => boolean;
  readonly isLastTry: boolean;
}

/** Repeating it is harmless: what is done is not done again. */
export async function workFlowTest(ctx: Context, key: FlowTestKey, working: Working): Promise<void> {
  try {
    for (;;) {
      if (working.isStopping()) return await enqueueFlowTest(ctx.db, key);
      const seconds = await goOn(ctx, key);
      if (seconds === undefined) return;
      if (seconds > 0) return await enqueueFlowTest(ctx.db, key, seconds);
    }
  } catch (error) {
    if (!working.isLastTry) throw error;
    ctx.log.warn('automations.test_failed', { ...key, message: messageOf(error) });
    const reason = error instanceof UnavailableConditionError ? 'condition_unavailable' : 'failed';
    await endFlowTest(ctx.db, key, { status: 'failed', reason });
  }
}

/** In how many seconds it goes on; undefined: it has ended. */
async function goOn(ctx: Context, key: FlowTestKey): Promise<number | undefined> {
  const found = await readFlowTest(ctx.db, key);
  if (!found) return undefined;
  const live = flowOf(key, found);
  // Outside of the transaction: it asks plugins.
  const answers = await answersToRules(ctx, live, [...rulesIn(live.flow), ...rulesOfWaysOut(live)]);
  return inTransaction(ctx, (tx) => takeStep(tx, key, { live, answers }));
}

function flowOf({ customerId }: FlowTestKey, { automationId, uid, listId, flow }: FlowTestWork): LiveFlow {
  return liveFlowOf({ customerId, automationId, version: 0 }, { uid, listId, flow });
}

const TOO_MANY: Stepped = { fault: 'too_many_steps' };

async function takeStep(
  ctx: TransactionContext,
  key: FlowTestKey,
  { live, answers }: { readonly live: LiveFlow; readonly answers: AnswersByQuestion },
): Promise<number | undefined> {
  const work = await lockFlowTest(ctx.tx, key);
  if (!work) return undefined;
  if (work.secondsLeft > 0) return work.secondsLeft;
  const zones = await zonesOfList(ctx.db, { customerId: key.customerId, listId: work.listId });
  if (!zones) return undefined;
  const stepping = { key, work, live, zones, answers, happenedAt: await databaseNow(ctx.db) };
  const done = work.steps.length >= FLOW_TEST_STEPS_MAX ? TOO_MANY : await stepOfTest(ctx, stepping, work.state);
  if ('fault' in done) {
    await endFlowTest(ctx.db, key, { status: 'failed', reason: done.fault });
    return undefined;
  }
  const steps = done.step ? [...work.steps, done.step] : work.steps;
  const seconds = done.waits ? work.waitSeconds : 0;
  await writeFlowTest(ctx.tx, key, { steps, state: done.state, seconds });
  return done.state ? seconds : undefined;
}
