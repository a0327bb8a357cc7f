/** Nodes, triggers and goals that ask a plugin: people keep their places while it is away, and a slow one holds up no other flow (D89). */
import { beforeEach, expect, test, vi } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { createCampaign } from '../../../src/domain/campaigns/create-campaign.ts';
import { followActivity } from '../../../src/domain/automations/events/follow-activity.ts';
import { SOURCE_KINDS } from '../../../src/domain/source-key.ts';
import { tagSubscriber } from '../../../src/domain/audience/tag-subscriber.ts';
import { readCounts } from '../../../src/domain/automations/runs/read-counts.ts';
import { seenRuns } from '../../../src/domain/automations/runs/run-read-model.ts';
import { updateAutomation } from '../../../src/domain/automations/update-automation.ts';
import { publishAutomation } from '../../../src/domain/automations/versions/publish-automation.ts';
import { unansweredMailJob } from '../../../src/jobs/automation-jobs.ts';
import { subscriberUid } from '../../../src/lib/ids.ts';
import type { ConditionPage, Plugin } from '../../../src/plugin-api/index.ts';
import { automationTasks } from '../../../src/workers/tasks/automations.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { recordTrackingEvents } from '../../support/record-tracking-events.ts';
import { createTestContext } from '../../support/test-context.ts';
import { startTriggerWorld } from '../../support/trigger-world.ts';

const base = await createTestContext();
const world = await startFlowWorld(new Date().toISOString(), base);
const { ctx, list } = world;

/** What the plugin answers; each question of a flow has another number, so that no answer of before is used. */
let find: () => ConditionPage | Promise<ConditionPage> = () => ({ uids: [], next: null });
let number = 0;
const shop: Plugin = {
  name: 'acme/shop',
  boot(hooks) {
    hooks.add('segment_condition', {
      name: 'acme_bought',
      label: 'Bought',
      parameters: [{ name: 'number', label: 'Number', type: 'number' }],
      find: () => find(),
    });
  },
};
base.hooks.register(shop);
const comes = () => {
  base.hooks.boot(shop);
  base.hooks.goLive(shop.name);
};
const goes = () => base.hooks.takeBack(shop.name);
comes();

const everybody = (ids: readonly bigint[]): ConditionPage => ({ uids: ids.map(subscriberUid), next: null });
const bought = () => ({ pluginCondition: { plugin: shop.name, name: 'acme_bought', values: { number } } });
beforeEach(() => {
  number += 1;
});

const triggers = [{ type: 'execute' }];
const asking = (more: object = {}) => ({
  triggers,
  nodes: [
    { id: 'ask', type: 'condition', if: { person: bought() } },
    { id: 'buyer', type: 'end' },
    { id: 'other', type: 'end' },
  ],
  edges: [
    { from: 'start', to: 'ask' },
    { from: 'ask', port: 'yes', to: 'buyer' },
    { from: 'ask', port: 'no', to: 'other' },
  ],
  ...more,
});
const ending = (more: object = {}) => ({
  triggers,
  nodes: [{ id: 'stop', type: 'end' }],
  edges: [{ from: 'start', to: 'stop' }],
  ...more,
});

/** A plugin that answers when the test lets it, and has been asked. */
function heldPlugin(page: ConditionPage) {
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<ConditionPage>()];
  find = () => {
    asked.resolve();
    return answer.promise;
  };
  return { asked: asked.promise, answer: () => answer.resolve(page) };
}

/** Works until it is so: the answer of a plugin is there a moment after it was asked. */
const worked = (work: () => Promise<unknown>, isSo: () => Promise<void>) =>
  vi.waitFor(
    async () => {
      await work();
      await isSo();
    },
    { timeout: 60_000, interval: 50 },
  );

/** Does the job, and answers the mails that it has caused. */
async function mailsOf(payload: object): Promise<readonly { subject: string; paragraphs: string[] }[]> {
  await ctx.db.execute(
    sql`INSERT INTO customer (uid, name, is_operator) SELECT 'operator00000', 'Operator', true WHERE NOT EXISTS (SELECT 1 FROM customer WHERE is_operator)`,
  );
  const before = await queryRows<{ id: bigint }>(ctx.db, sql`SELECT id FROM hot.message`);
  const helpers = { workerId: 'w', jobId: '7', attempt: 1, attemptsMax: 1, abortSignal: new AbortController().signal };
  await automationTasks.find(({ name }) => name === unansweredMailJob.name)?.run(ctx, payload, helpers);
  const mails = await queryRows<{ content: { subject: string; paragraphs: string[] } }>(
    ctx.db,
    sql`SELECT content FROM hot.message WHERE id <> ALL (${before.map(({ id }) => id)}::bigint[])`,
  );
  return mails.map(({ content }) => content);
}

test('people at a node keep their places while its plugin is away, see why, and go on when it is back', async () => {
  const person = await world.person();
  const flow = await world.publish(asking());
  const key = { customerId: list.customerId, automationId: flow.key.automationId };
  const node = async () => {
    const counts = await readCounts(ctx, { ...key, version: 1 });
    return counts?.versions[0]?.nodes.find((one) => one.node === 'ask');
  };
  find = () => everybody([person]);
  goes();
  const [entered] = await world.enter(flow, [person]);
  expect(await world.run()).toBe(0);
  expect(await world.counts(flow)).toEqual({ ask: 'entered 1, waiting 1' });
  const since = world.now();
  const about = { plugin: 'acme/shop', condition: 'acme_bought', cause: 'inactive' };
  expect(await node()).toMatchObject({ postponedAt: since, postponedFor: about });
  const runId = entered && 'runId' in entered ? entered.runId : 0n;
  const runs = () => seenRuns(ctx.db, { ...key, listId: list.id }, [runId]);
  expect(await runs()).toMatchObject([{ state: 'waiting', reason: 'condition_unavailable' }]);

  const jobs = await queryRows<{ payload: object }>(
    ctx.db,
    sql`SELECT payload FROM graphile_worker._private_jobs WHERE key = ${`${unansweredMailJob.name} ${key.automationId}`}`,
  );
  expect(jobs).toHaveLength(1);
  const mails = await mailsOf(jobs[0]?.payload ?? {});
  expect(mails.map(({ subject }) => subject)).toEqual(['The automation Flow waits for a plugin']);
  expect(mails[0]?.paragraphs.slice(0, 2)).toEqual([
    expect.stringContaining('The plugin acme/shop has not said for whom its condition acme_bought holds'),
    'People wait at these steps, with their number: ask (1).',
  ]);
  expect(await mailsOf(jobs[0]?.payload ?? {}), 'once a day').toEqual([]);

  comes();
  expect(await world.run(), 'not before its time').toBe(0);
  const inHalfAMinute = new Date(since.getTime() + 30_000).toISOString();
  await worked(
    () => world.run(inHalfAMinute),
    async () =>
      expect(await world.steps(person)).toEqual(['ask entered execute', 'ask passed yes', 'buyer passed end']),
  );
  expect(await node()).toMatchObject({ postponedAt: null, postponedFor: null });
  expect(await runs()).toMatchObject([{ state: 'passed' }]);
  expect(await mailsOf(jobs[0]?.payload ?? {}), 'nobody waits any more').toEqual([]);
});

test('a plugin that fails is named, and since when people wait stays', async () => {
  const person = await world.person();
  const flow = await world.publish(asking());
  const node = async () => {
    const counts = await readCounts(ctx, { ...flow.key, version: 1 });
    return counts?.versions[0]?.nodes.find((one) => one.node === 'ask');
  };
  let calls = 0;
  find = () => {
    calls += 1;
    throw new Error('The shop is closed.');
  };
  await world.enter(flow, [person]);
  const since = world.now();
  const isFailed = async () =>
    expect(await node()).toMatchObject({ postponedAt: since, postponedFor: { cause: 'failed' } });
  await worked(() => world.run(), isFailed);
  // When its failure can be seen, the node may count as one that is asking for a moment yet: then nothing is asked.
  const inHalfAMinute = new Date(since.getTime() + 30_000).toISOString();
  await worked(
    () => world.run(inHalfAMinute),
    async () => expect(calls).toBe(2),
  );
  await isFailed();
  expect(await world.counts(flow)).toEqual({ ask: 'entered 1, waiting 1' });
});

test('while a plugin is asked for a step, the steps of other flows are done', async () => {
  const [person, other] = [await world.person(), await world.person()];
  const [slow, quick] = [await world.publish(asking()), await world.publish(ending())];
  const plugin = heldPlugin(everybody([person]));
  await world.enter(slow, [person]);
  await world.enter(quick, [other]);
  await world.run();
  await plugin.asked;
  expect(await world.steps(other)).toEqual(['stop entered execute', 'stop passed end']);
  const third = await world.person();
  await world.enter(quick, [third]);
  await world.run();
  expect(await world.steps(third)).toEqual(['stop entered execute', 'stop passed end']);
  expect(await world.steps(person)).toEqual(['ask entered execute']);
  plugin.answer();
  await worked(world.run, async () => expect(await world.steps(person)).toContain('buyer passed end'));
});

test('while a plugin is asked for a goal, other flows read what happens to their people', async () => {
  const entering = { triggers: [{ type: 'tag_added', tag: 'new' }] };
  const rest = {
    nodes: [{ id: 'rest', type: 'wait', for: { days: 1 } }],
    edges: [{ from: 'start', to: 'rest' }],
  };
  const slow = await world.publish({ ...entering, ...rest, goals: [{ id: 'buys', person: bought() }] });
  const quick = await world.publish({ ...entering, ...rest });
  const person = await world.person();
  const plugin = heldPlugin(everybody([]));
  await tagSubscriber(ctx, { subscriber: subscriberUid(person), listUid: list.uid, tags: ['new'] });
  await world.follow();
  await plugin.asked;
  expect(await world.counts(quick)).toEqual({ rest: 'entered 1, waiting 1' });
  expect(await world.counts(slow)).toEqual({});
  plugin.answer();
  await worked(world.follow, async () => expect(await world.counts(slow)).toEqual({ rest: 'entered 1, waiting 1' }));
});

test('a flow whose trigger asks a plugin that is away reads nothing, says so, and misses nothing', async () => {
  const flow = await world.publish(ending({ triggers: [{ type: 'tag_added', tag: 'away', if: bought() }] }));
  const counts = () => readCounts(ctx, { ...flow.key, version: null });
  const person = await world.person();
  find = () => everybody([person]);
  goes();
  // The plugin has been away for long.
  await ctx.db.execute(sql`UPDATE hot.flow_follower SET failures = 20 WHERE automation_id = ${flow.key.automationId}`);
  await tagSubscriber(ctx, { subscriber: subscriberUid(person), listUid: list.uid, tags: ['away'] });
  await world.follow();
  const about = { plugin: 'acme/shop', condition: 'acme_bought', cause: 'inactive' };
  expect(await counts()).toMatchObject({ postponedAt: expect.any(Date), postponedFor: about });
  const names = { customerId: String(list.customerId), automationId: String(flow.key.automationId) };
  const [mail] = await mailsOf(names);
  expect(mail?.paragraphs[1]).toContain('What happens to people lets nobody in');
  comes();
  const isSoon = await queryRows(
    ctx.db,
    sql`UPDATE hot.flow_follower SET retry_at = now() WHERE automation_id = ${flow.key.automationId} AND retry_at <= now() + interval '30 seconds' RETURNING 1`,
  );
  expect(isSoon, 'it tries again within half a minute').toHaveLength(1);
  await worked(world.follow, async () => expect(await world.steps(person)).toEqual(['stop entered tag_added']));
  expect(await counts()).toMatchObject({ postponedAt: null, postponedFor: null });
});

test('a flow whose trigger of opens asks a plugin that is away takes them when it is back', async () => {
  const flow = await world.publish(ending({ triggers: [{ type: 'campaign_opened', machines: true, if: bought() }] }));
  const counts = () => readCounts(ctx, { ...flow.key, version: null });
  const person = await world.person();
  find = () => everybody([person]);
  const { uid } = await createCampaign(ctx, {
    ...{ listUid: list.uid, name: 'News', subject: 'News', fromEmail: 'news@sender.example', fromName: 'Sender' },
    html: '<p>News <a href="{UNSUBSCRIBE_URL}">Unsubscribe</a></p>',
  });
  const [campaign] = await queryRows<{ id: bigint }>(ctx.db, sql`SELECT id FROM campaign WHERE uid = ${uid}`);
  goes();
  const recipient = {
    ...{
      customerId: list.customerId,
      listId: list.id,
      sourceKind: SOURCE_KINDS.campaign,
      sourceId: campaign?.id ?? 0n,
    },
    ...{ recipientId: person, occurrence: 0n },
  };
  const visitor = { ip: '192.0.2.7', userAgent: 'Reader/1', isMachine: false, looksAhead: false };
  await recordTrackingEvents(ctx, [{ recipient, visitor, url: null, linkNo: null, cameAt: performance.now() }]);
  const isDue = () => ctx.db.execute(sql`UPDATE hot.flow_activity SET due_at = now()`);
  const follow = () => followActivity(ctx, { isStopping: () => false });
  await isDue();
  await follow();
  expect(await counts()).toMatchObject({ postponedAt: expect.any(Date), postponedFor: { cause: 'inactive' } });
  comes();
  await ctx.db.execute(
    sql`UPDATE hot.flow_follower SET retry_at = now() WHERE automation_id = ${flow.key.automationId}`,
  );
  await worked(follow, async () => expect(await world.steps(person)).toEqual(['stop entered campaign_opened']));
  expect(await counts()).toMatchObject({ postponedAt: null, postponedFor: null });
});

test('the mail comes ten minutes after the first part of a flow began to wait, also when others begin later', async () => {
  const begins = [{ type: 'execute' }, { type: 'tag_added', tag: 'later', if: bought() }];
  const flow = await world.publish(asking({ triggers: begins }));
  const [person, later] = [await world.person(), await world.person()];
  goes();
  await world.enter(flow, [person]);
  await world.run();
  await ctx.db.execute(
    sql`UPDATE hot.flow_node SET postponed_at = now() - interval '9 minutes' WHERE automation_id = ${flow.key.automationId} AND postponed_at IS NOT NULL`,
  );
  await tagSubscriber(ctx, { subscriber: subscriberUid(later), listUid: list.uid, tags: ['later'] });
  await world.follow();
  comes();
  const soon = await queryRows(
    ctx.db,
    sql`SELECT 1 FROM graphile_worker._private_jobs
         WHERE key = ${`${unansweredMailJob.name} ${flow.key.automationId}`} AND run_at <= now() + interval '1 minute'`,
  );
  expect(soon).toHaveLength(1);
});

test('goals of an earlier version that people are in still ask their plugin', async () => {
  const entering = { triggers: [{ type: 'tag_added', tag: 'old' }] };
  const rest = { nodes: [{ id: 'rest', type: 'wait', for: { days: 1 } }], edges: [{ from: 'start', to: 'rest' }] };
  const flow = await world.publish({ ...entering, ...rest, goals: [{ id: 'buys', person: bought() }] });
  const [person, other] = [await world.person(), await world.person()];
  await world.enter(flow, [person]);
  await updateAutomation(ctx, flow.uid, { draftVersion: 1, flow: { ...entering, ...rest } });
  await publishAutomation(ctx, flow.uid, 2);
  find = () => everybody([person]);
  for (const one of [person, other])
    await tagSubscriber(ctx, { subscriber: subscriberUid(one), listUid: list.uid, tags: ['changed', 'old'] });
  await worked(world.follow, async () => expect(await world.steps(person)).toContain('rest left goal:buys'));
  expect(await world.steps(other)).toEqual(['rest entered tag_added']);
});

test('while a plugin is asked for a trigger, others let people in; one that is away lets them in when it is back', async () => {
  const dates = await startTriggerWorld('2024-03-04T08:00:00Z', base);
  const timetable = { type: 'specific_date', date: '2024-03-05', at: '09:00' };
  const person = await dates.person();
  const slow = await dates.watch([{ ...timetable, if: bought() }]);
  const quick = await dates.watch([timetable]);
  const plugin = heldPlugin(everybody([person]));
  await dates.look('2024-03-05T09:00:00Z');
  await plugin.asked;
  expect(await dates.entries(quick)).toHaveLength(1);
  expect(await dates.entries(slow)).toEqual([]);
  plugin.answer();
  await worked(
    () => dates.look('2024-03-05T09:00:10Z'),
    async () => expect(await dates.entries(slow)).toHaveLength(1),
  );
});
