/** Opens and clicks let people into flows, end their waits and take them out: people's only unless asked, each once, also when a worker dies. */
import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { createCampaign } from '../../../src/domain/campaigns/create-campaign.ts';
import { deleteAutomation, eraseGone } from '../../../src/domain/automations/delete-automation.ts';
import { followActivity } from '../../../src/domain/automations/events/follow-activity.ts';
import { flowsWithActivity } from '../../../src/domain/automations/events/flow-activity-store.ts';
import { keepPosition } from '../../../src/domain/automations/events/flow-follower-store.ts';
import { startFlowFollower } from '../../../src/domain/automations/events/flow-follower.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { SOURCE_KINDS } from '../../../src/domain/source-key.ts';
import type { TrackedRecipient } from '../../../src/domain/tracking/tracking.ts';
import { startFlowMailWorld } from '../../support/flow-mail-world.ts';
import { mortalProcess } from '../../support/mortal-process.ts';
import { recordTrackingEvents } from '../../support/record-tracking-events.ts';
import { readCounter } from '../../support/read-counter.ts';
import { newList } from '../../support/tenant.ts';

const world = await startFlowMailWorld({ smtpPort: 1 });
const { ctx, list } = world;
const MINUTE_MS = 60_000;
// A minute ago: what people do seconds ago is after that.
const aMinuteAgo = () => world.run(new Date(Date.now() - MINUTE_MS).toISOString());
await aMinuteAgo();
await ctx.db.execute(sql`SELECT hot.ensure_partitions(current_date - 1, current_date + 93)`);

const line = (...ids: string[]) => ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
const rest = { id: 'rest', type: 'wait', for: { days: 1 } };
const visitor = { ip: '192.0.2.7', userAgent: 'Reader/1', isMachine: false, looksAhead: false };
const OFFER = 'https://shop.example/Offer?a=1';
const templateUid = await world.template({ subject: 'Look', html: `<p><a href="${OFFER}">offer</a></p>` });

async function campaign(listUid = list.uid) {
  const { uid } = await createCampaign(ctx, {
    listUid,
    name: 'N',
    subject: 'S',
    fromEmail: 'news@sender.example',
    fromName: 'Sender',
    html: `<p><a href="${OFFER}">x</a> <a href="{UNSUBSCRIBE_URL}">u</a></p>`,
  });
  const [row] = await queryRows<{ id: bigint }>(ctx.db, sql`SELECT id FROM campaign WHERE uid = ${uid}`);
  return { uid, id: row?.id ?? 0n };
}
const ofCampaign = ({ id }: { id: bigint }, personId: bigint): TrackedRecipient => ({
  ...{ customerId: list.customerId, listId: list.id, sourceKind: SOURCE_KINDS.campaign, sourceId: id },
  ...{ recipientId: personId, occurrence: 0n },
});
/** The last mail of a flow that the person got. */
async function ofMail(personId: bigint): Promise<TrackedRecipient> {
  const [mail] = await queryRows<{ id: bigint; source: bigint }>(
    ctx.db,
    sql`SELECT id, source_id AS source FROM hot.message WHERE recipient_id = ${personId} AND purpose = 'flow' ORDER BY id DESC LIMIT 1`,
  );
  return {
    ...{
      customerId: list.customerId,
      listId: list.id,
      sourceKind: SOURCE_KINDS.automation,
      sourceId: mail?.source ?? 0n,
    },
    ...{ recipientId: personId, occurrence: mail?.id ?? 0n },
  };
}

const tenSecondsAgo = () => performance.now() - 10_000;
const act = (
  recipient: TrackedRecipient,
  { url = null, linkNo = 0, isMachine = false, cameAt = tenSecondsAgo() }: Partial<Act> = {},
) =>
  recordTrackingEvents(ctx, [
    { recipient, visitor: { ...visitor, isMachine }, url, linkNo: url === null ? null : linkNo, cameAt },
  ]);
interface Act {
  url: string | null;
  linkNo: number;
  isMachine: boolean;
  cameAt: number;
}
const isDue = () => ctx.db.execute(sql`UPDATE hot.flow_activity SET due_at = now()`);
async function follow(as = ctx) {
  await isDue();
  await followActivity(as, { isStopping: () => false });
}

test('opens and clicks of a campaign let people in, each trigger those whom it is meant for', async () => {
  const [named, other] = [await campaign(), await campaign()];
  const foreign = await campaign((await newList(ctx)).uid);
  const triggers = [
    { type: 'campaign_clicked', campaignUid: named.uid, linkContains: 'offer' },
    { type: 'campaign_opened', campaignUid: other.uid },
  ];
  const flow = await world.publish({ triggers, nodes: [rest], edges: line('start', 'rest') });
  const any = await world.publish({
    triggers: [{ type: 'campaign_opened', machines: true }],
    nodes: [rest],
    edges: line('start', 'rest'),
  });
  const people = [];
  for (let no = 0; no < 5; no++) people.push(await world.person());
  const [clicks = 0n, opens = 0n, elsewhere = 0n, machine = 0n, byClick = 0n] = people;
  await act(ofCampaign(named, clicks), { url: OFFER });
  await act(ofCampaign(named, elsewhere), { url: 'https://shop.example/news' });
  await act(ofCampaign(other, opens));
  await act(ofCampaign(other, machine), { isMachine: true });
  await act(ofCampaign(other, byClick), { url: OFFER });
  await act(ofCampaign(foreign, opens));
  await follow();
  const seen = await Promise.all(people.map((id) => world.steps(id)));
  expect(seen.map((steps) => steps.toSorted())).toEqual([
    ['rest entered campaign_clicked', 'rest entered campaign_opened'],
    ['rest entered campaign_opened', 'rest entered campaign_opened'],
    ['rest entered campaign_opened'],
    ['rest entered campaign_opened'],
    ['rest entered campaign_opened', 'rest entered campaign_opened'],
  ]);
  expect([await world.counts(flow), await world.counts(any)]).toEqual([
    { rest: 'entered 3, waiting 3' },
    { rest: 'entered 5, waiting 5' },
  ]);
  await setAutomationStatus(ctx, any.uid, 'inactive');
  await setAutomationStatus(ctx, flow.uid, 'inactive');
});

test('clicks of many links at once are a machine’s, also when that is known only after the first', async () => {
  const { uid, id } = await campaign();
  const triggers = [{ type: 'campaign_clicked', campaignUid: uid }];
  const flow = await world.publish({ triggers, nodes: [rest], edges: line('start', 'rest') });
  const person = await world.person();
  const cameAt = tenSecondsAgo();
  for (const linkNo of [0, 1, 2]) await act(ofCampaign({ id }, person), { url: `${OFFER}${linkNo}`, linkNo, cameAt });
  await follow();
  expect(await world.counts(flow)).toEqual({});
  expect(await queryRows(ctx.db, sql`SELECT 1 FROM hot.flow_activity`)).toEqual([]);
  await setAutomationStatus(ctx, flow.uid, 'inactive');
});

test('what is seconds old waits; a flow that does not ask, or is stopped, gets nothing', async () => {
  const { uid, id } = await campaign();
  const flow = await world.publish({
    triggers: [{ type: 'campaign_opened', campaignUid: uid }],
    nodes: [rest],
    edges: line('start', 'rest'),
  });
  const [early, late] = [await world.person(), await world.person()];
  await act(ofCampaign({ id }, early));
  await followActivity(ctx, { isStopping: () => false });
  expect(await world.counts(flow)).toEqual({});
  await follow();
  expect(await world.counts(flow)).toEqual({ rest: 'entered 1, waiting 1' });
  await setAutomationStatus(ctx, flow.uid, 'inactive');
  await act(ofCampaign({ id }, late));
  await act(ofCampaign(await campaign(), late));
  expect(await queryRows(ctx.db, sql`SELECT 1 FROM hot.flow_activity`)).toEqual([]);
});

const waitingFor = (event: object, more: object = {}) => ({
  triggers: [{ type: 'execute' }],
  nodes: [
    { id: 'mail', type: 'send_mail', templateUid },
    { id: 'look', type: 'wait_for_event', event, for: { hours: 1 } },
    { id: 'yes', type: 'add_tag', tag: 'looked' },
    { id: 'no', type: 'add_tag', tag: 'did not' },
  ],
  edges: [...line('start', 'mail', 'look', 'yes'), { from: 'look', port: 'timeout', to: 'no' }],
  ...more,
});
const tagsOf = async (...people: bigint[]) => Promise.all(people.map(async (id) => (await world.personRow(id))?.tags));

test('a wait ends by a click in the mail of this run, or by its time; a click counts as an open', async () => {
  const flow = await world.publish({
    ...waitingFor({ type: 'clicked', mail: 'mail', linkContains: 'OFFER' }),
    entry: { mode: 'after_end' },
  });
  const opened = await world.publish(waitingFor({ type: 'opened' }));
  const [clicks, opens, machine, nothing] = [
    await world.person(),
    await world.person(),
    await world.person(),
    await world.person(),
  ];
  await world.enter(flow, [clicks, opens, machine, nothing]);
  await world.run();
  await act(await ofMail(clicks), { url: OFFER });
  await act(await ofMail(opens));
  await act(await ofMail(machine), { url: OFFER, isMachine: true });
  await follow();
  await world.run(new Date().toISOString());
  expect(await tagsOf(clicks, opens, machine, nothing)).toEqual([['looked'], [], [], []]);
  expect(await world.steps(clicks)).toContain('look passed next clicked');
  const late = await world.person();
  await aMinuteAgo();
  await world.enter(opened, [late]);
  await world.run();
  await act(await ofMail(late), { url: OFFER });
  await follow();
  await world.run(new Date(world.now().getTime() + 61 * MINUTE_MS).toISOString());
  await world.run(new Date(world.now().getTime() + MINUTE_MS).toISOString());
  expect(await tagsOf(opens, machine, nothing, late)).toEqual([['did not'], ['did not'], ['did not'], ['looked']]);
  // A click in the mail of an earlier run is not one of this run.
  const before = await ofMail(clicks);
  await aMinuteAgo();
  await world.enter(flow, [clicks]);
  await world.run();
  await act(before, { url: OFFER });
  await follow();
  expect(await world.counts(flow)).toMatchObject({ look: 'entered 5, waiting 1, passed 4' });
  for (const { uid } of [flow, opened]) await setAutomationStatus(ctx, uid, 'inactive');
  await aMinuteAgo();
});

test('who arrives at the wait looks back; a goal of opens takes people out at once and before each mail', async () => {
  const nodes = [
    { id: 'mail', type: 'send_mail', templateUid },
    { id: 'pause', type: 'wait', for: { minutes: 1 } },
    {
      id: 'look',
      type: 'wait_for_event',
      event: { type: 'opened', mail: 'mail' },
      for: { days: 1 },
      countsFrom: 'entry',
    },
    { id: 'again', type: 'send_mail', templateUid },
  ];
  const plain = { triggers: [{ type: 'execute' }], nodes, edges: line('start', 'mail', 'pause', 'look', 'again') };
  const flow = await world.publish(plain);
  const goals = [{ id: 'read', event: { type: 'opened' } }];
  const withGoal = await world.publish({
    ...plain,
    goals,
    nodes: nodes.filter(({ id }) => id !== 'look'),
    edges: line('start', 'mail', 'pause', 'again'),
  });
  const [looks, leaves, stays] = [await world.person(), await world.person(), await world.person()];
  await world.enter(flow, [looks]);
  await world.enter(withGoal, [leaves, stays]);
  await world.run();
  for (const person of [looks, leaves]) await act(await ofMail(person));
  // Nobody has followed: the steps look themselves.
  await world.run(new Date(Date.now()).toISOString());
  await world.run(new Date(Date.now() + 2 * MINUTE_MS).toISOString());
  expect((await world.steps(looks)).slice(3)).toEqual(['look passed next opened', 'again passed next']);
  expect((await world.steps(leaves)).at(-1)).toBe('again left goal:read');
  expect((await world.steps(stays)).at(-1)).toBe('again passed next');
  await follow();
  await aMinuteAgo();
  const [third] = [await world.person()];
  await world.enter(withGoal, [third]);
  await world.run();
  await act(await ofMail(third));
  await follow();
  expect((await world.steps(third)).at(-1)).toBe('pause left goal:read');
  for (const { uid } of [flow, withGoal]) await setAutomationStatus(ctx, uid, 'inactive');
});

test('a process that dies between any two statements has let people in or not: each is there once', async () => {
  const made = await campaign();
  const flow = await world.publish({
    triggers: [{ type: 'campaign_opened', campaignUid: made.uid }],
    entry: { mode: 'after_end' },
    nodes: [{ id: 'mark', type: 'wait', for: { days: 1 } }],
    edges: line('start', 'mark'),
  });
  let people = 0;
  for (let diesAt = 1, isDead = true; isDead; diesAt++) {
    expect(diesAt).toBeLessThan(100);
    await act(ofCampaign(made, await world.person()));
    people += 1;
    const process = mortalProcess(ctx, diesAt);
    await follow(process.ctx).catch((error: unknown) => {
      if (!process.isDead()) throw error;
    });
    isDead = process.isDead();
    await ctx.db.execute(sql`UPDATE hot.flow_follower SET retry_at = NULL`);
    await follow();
    expect(await world.counts(flow)).toEqual({ mark: `entered ${people}, waiting ${people}` });
  }
});

test('a campaign that does not go to the list is a fault', async () => {
  const { uid } = await campaign((await newList(ctx)).uid);
  const triggers = [{ type: 'campaign_opened', campaignUid: uid }];
  await expect(world.publish({ triggers, nodes: [rest], edges: line('start', 'rest') })).rejects.toMatchObject({
    faults: [{ field: 'triggers.0.campaignUid', code: 'unknown_campaign' }],
  });
});

test('opens have their turn, also while something happens to people all the time', async () => {
  const made = await campaign();
  const busy = await world.publish({
    triggers: [{ type: 'subscribed' }],
    nodes: [rest],
    edges: line('start', 'rest'),
  });
  const flow = await world.publish({
    triggers: [{ type: 'campaign_opened', campaignUid: made.uid }],
    nodes: [rest],
    edges: line('start', 'rest'),
  });
  const person = await world.person();
  await act(ofCampaign(made, person));
  await isDue();
  const PEOPLE_MAX = 1_500;
  let [people, hasEntered] = [0, false];
  const add = async () => {
    for (; people < PEOPLE_MAX && !hasEntered; people++) await world.person();
  };
  const adding = [add(), add(), add()];
  await world.person();
  const follower = startFlowFollower(ctx);
  while (people < PEOPLE_MAX && !hasEntered) hasEntered = Object.keys(await world.counts(flow)).length > 0;
  await Promise.all(adding);
  await follower.stop(5_000);
  expect(hasEntered).toBe(true);
  for (const { uid } of [busy, flow]) await setAutomationStatus(ctx, uid, 'inactive');
});

const fillQueue = (customerId: bigint, automationId: bigint, rows: number) =>
  ctx.db.execute(
    sql`INSERT INTO hot.flow_activity (customer_id, automation_id, source_id, person_id, event_id, at, due_at, source_kind, is_click)
        SELECT ${customerId}, ${automationId}, 1, n, n, now(), now(), ${SOURCE_KINDS.campaign}, false FROM generate_series(1, ${rows}::int) n`,
  );

test('what waits of a flow that is stopped is not read in each round', async () => {
  const flow = await world.publish({
    triggers: [{ type: 'campaign_opened' }],
    nodes: [rest],
    edges: line('start', 'rest'),
  });
  await setAutomationStatus(ctx, flow.uid, 'inactive');
  await fillQueue(flow.key.customerId, flow.key.automationId, 5_000);
  const count = readCounter(ctx.database, ['flow_activity']);
  await count(async (tx, read) => {
    expect(await flowsWithActivity(tx, 100)).toEqual([]);
    expect(await read('flow_activity')).toBeLessThan(100);
  });
  await deleteAutomation(ctx, flow.uid);
  await eraseGone(ctx, () => false);
});

test('of a deleted flow that nobody entered nothing is left, nor of an open that came at that moment', async () => {
  const flow = await world.publish({
    triggers: [{ type: 'campaign_opened' }],
    nodes: [rest],
    edges: line('start', 'rest'),
  });
  const { customerId, automationId } = flow.key;
  const left = () =>
    queryRows(
      ctx.db,
      sql`SELECT 'open' FROM hot.flow_activity WHERE automation_id = ${automationId}
          UNION ALL SELECT 'follower' FROM hot.flow_follower WHERE automation_id = ${automationId}`,
    );
  await deleteAutomation(ctx, flow.uid);
  await eraseGone(ctx, () => false);
  expect(await left()).toEqual([]);
  await fillQueue(customerId, automationId, 1);
  await eraseGone(ctx, () => false);
  expect(await left()).toEqual([]);
});

test('what waits for a flow that stays stopped is erased: after an outage in a week, else at once', async () => {
  const asks = { triggers: [{ type: 'campaign_opened' }], nodes: [rest], edges: line('start', 'rest') };
  const [active, paused, outage] = [await world.publish(asks), await world.publish(asks), await world.publish(asks)];
  await setAutomationStatus(ctx, paused.uid, 'inactive');
  await setAutomationStatus(ctx, outage.uid, 'inactive');
  await keepPosition(ctx.db, outage.key);
  const flows = [active, paused, outage];
  for (const { key } of flows) await fillQueue(key.customerId, key.automationId, 2);
  await ctx.db.execute(sql`UPDATE hot.flow_activity SET due_at = now() - interval '8 days' WHERE event_id = 1`);
  await eraseGone(ctx, () => false);
  const left = await queryRows<{ flow: bigint; event: bigint }>(
    ctx.db,
    sql`SELECT automation_id AS flow, event_id AS event FROM hot.flow_activity ORDER BY id`,
  );
  const events = (id: bigint) => left.filter(({ flow }) => flow === id).map(({ event }) => event);
  expect(flows.map(({ key }) => events(key.automationId))).toEqual([[1n, 2n], [], [2n]]);
  for (const { uid } of flows) await deleteAutomation(ctx, uid);
  await eraseGone(ctx, () => false);
});
