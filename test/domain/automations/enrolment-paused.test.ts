/** An enrolment while its automation is paused: nobody enters, and nobody is asked who would (D71, D85). */
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { enrolmentsOf } from '../../../src/domain/automations/entries/cancel-entering.ts';
import { enterExisting } from '../../../src/domain/automations/entries/enter-existing.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { workEnrolment } from '../../../src/domain/automations/entries/work-enrolment.ts';
import type { Context } from '../../../src/domain/context.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { pauseMeanwhile } from '../../support/pause-meanwhile.ts';

const world = await startFlowWorld(new Date().toISOString());
const { ctx, list } = world;
await subscriberPeople(ctx.db, list, 3);

/** A flow that all three may enter, and the enrolment that lets them in. */
async function begun() {
  const flow = await world.publish({
    triggers: [{ type: 'subscribed' }],
    nodes: [{ id: 'rest', type: 'wait', for: { days: 1 } }],
    edges: [{ from: 'start', to: 'rest' }],
  });
  return { flow, enrolment: await enterExisting(ctx, flow.uid, { people: 3, perHour: 1_000_000 }) };
}

const work = (as: Context, enrolment: Awaited<ReturnType<typeof begun>>['enrolment']) =>
  workEnrolment(as, enrolment, { isStopping: () => false, isLastTry: true });

test('a pause waits for those who are entering: nobody enters a paused automation', async () => {
  const { flow, enrolment } = await begun();
  const moment = { uid: flow.uid, statement: 'automations.insert_runs' };
  await pauseMeanwhile(ctx, moment, (worker) => work(worker, enrolment));
  expect(await world.counts(flow)).toEqual({ rest: 'entered 3, waiting 3' });
  expect(await enrolmentsOf(ctx, flow.uid)).toMatchObject([{ status: 'done', entered: 3 }]);
});

test('while it is paused no plugin is asked, so one that is away ends nothing', async () => {
  const { flow, enrolment } = await begun();
  const rule = { pluginCondition: { plugin: 'acme/away', name: 'gone', values: {} } };
  await ctx.db.execute(
    sql`UPDATE automation_enrolment SET rule = ${JSON.stringify(rule)}::jsonb WHERE id = ${enrolment.id}`,
  );
  await setAutomationStatus(ctx, flow.uid, 'inactive');
  await work(ctx, enrolment);
  expect(await enrolmentsOf(ctx, flow.uid)).toMatchObject([{ status: 'running', entered: 0 }]);
  await setAutomationStatus(ctx, flow.uid, 'active');
  await work(ctx, enrolment);
  expect(await enrolmentsOf(ctx, flow.uid)).toMatchObject([{ status: 'failed', reason: 'condition_unavailable' }]);
});
