/**
 * What pages watch besides a campaign's figures and imports: dry runs, all campaigns of a customer, the queue. Through real
 * websockets: the state at once, then changes, only for those who may; and read once however many watch.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { CHANGES_MAX, watchCampaigns } from '../../src/domain/campaigns/campaign-changes.ts';
import { workDryRun } from '../../src/domain/campaigns/dry-run.ts';
import { enterProcess } from '../../src/domain/installation/process-store.ts';
import { announceCampaignChange } from '../../src/domain/statistics/announce-campaign-change.ts';
import { newUid } from '../../src/lib/ids.ts';
import { seedCampaign, type SeededCampaign } from '../support/audience-rows.ts';
import { countStatements } from '../support/count-statements.ts';
import { startGraphqlApp } from '../support/graphql-app.ts';
import { watcherOf, type Value } from '../support/watch-subscription.ts';

const app = await startGraphqlApp();
const { ctx } = app;
const { watch, close } = watcherOf(app.url);
afterAll(close);

interface Run extends Value {
  readonly status: string;
  readonly checked: number;
}

interface Changes {
  readonly isGap: boolean;
  readonly deletedUids: readonly string[];
  readonly changed: readonly { readonly uid: string; readonly statistics: { readonly sentCount: number } }[];
}

interface Queue {
  readonly workersWorking: number;
  readonly oldestDueSeconds: number;
  readonly processes: readonly Value[];
  readonly tasks: readonly { readonly task: string; readonly later: number }[];
}

async function owned(subscribers = 1): Promise<SeededCampaign & { token: string; userId: bigint }> {
  const owner = await app.newCustomer();
  const seeded = await seedCampaign(ctx.db, { subscribers, customerId: owner.customerId });
  return { ...seeded, token: owner.token, userId: owner.userId };
}

const revoke = (userId: bigint) =>
  ctx.db.execute(sql`UPDATE api_token SET revoked_at = now() WHERE user_id = ${userId}`);

const DRY_RUN = 'subscription ($uid: String!) { campaignDryRun(uid: $uid) { status total checked composed faulty } }';
const CHANGES = `subscription { campaignChanges { isGap deletedUids
  changed { uid name status waitsUntil statistics { sentCount subscriberCount } } } }`;
const QUEUE = `subscription { installationQueue { due later running failed oldestDueSeconds workersWorking
  tasks { task due later running failed oldestDueSeconds } processes { host isWorking } } }`;

describe('campaignDryRun', () => {
  const START = 'mutation ($uid: String!) { startCampaignDryRun(uid: $uid) { __typename ... on Error { message } } }';

  async function ready(subscribers: number) {
    const campaign = await owned(subscribers);
    await ctx.db.execute(sql`
      UPDATE campaign SET subject = 'Hi', html = '<p>Hello</p>', from_email = 'news@sender.example', from_name = 'News'
       WHERE id = ${campaign.campaignId}`);
    return { ...campaign, uid: campaign.campaignUid };
  }

  test('gives nothing before the first, then its beginning, its progress and its result, and the next one', async () => {
    const { uid, token, customerId } = await ready(1_200);
    const watched = watch<Run>(token, DRY_RUN, { uid });
    expect(await watched.next()).toBeNull();
    for (const round of [1, 2]) {
      expect((await app.run(START, { uid }, token)).data).toMatchObject({
        startCampaignDryRun: { __typename: 'DryRun' },
      });
      expect(await watched.until((run) => run.status === 'queued'), `round ${round}`).toMatchObject({ checked: 0 });
      const [run] = await queryRows<{ id: bigint }>(
        ctx.db,
        sql`SELECT id FROM dry_run WHERE customer_id = ${customerId} AND status = 'queued'`,
      );
      const key = { customerId, id: run?.id ?? 0n };
      const working = workDryRun(ctx, key, { abortSignal: new AbortController().signal, isLastTry: false });
      const seen: number[] = [];
      const last = await watched.until(({ status, checked }) => {
        seen.push(checked);
        return status === 'done';
      });
      await working;
      expect(last).toMatchObject({ total: 1_200, checked: 1_200, composed: 1_200, faulty: 0 });
      expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    }
  });

  test('ends when the campaign is deleted, is of its customer only, and closes with the token', async () => {
    const [campaign, other] = [await ready(1), await ready(1)];
    expect(await watch(other.token, DRY_RUN, { uid: campaign.uid }).next()).toContain('CAMPAIGN_NOT_FOUND');
    const narrow = await app.newCustomer(['lists:read']);
    expect(await watch(narrow.token, DRY_RUN, { uid: campaign.uid }).next()).toContain('FORBIDDEN');
    const watched = watch(campaign.token, DRY_RUN, { uid: campaign.uid });
    expect(await watched.next()).toBeNull();
    await app.run(
      'mutation ($uid: String!) { deleteCampaign(uid: $uid) { __typename } }',
      { uid: campaign.uid },
      campaign.token,
    );
    expect(await watched.next()).toBeUndefined();
    const revoked = watch(other.token, DRY_RUN, { uid: other.uid });
    expect(await revoked.next()).toBeNull();
    await revoke(other.userId);
    await revoked.end();
    expect(revoked.codes).toEqual([4401]);
  });
});

describe('campaignChanges', () => {
  async function setSent({ customerId, campaignId }: SeededCampaign, sent: number): Promise<void> {
    await ctx.db.execute(sql`
      INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, sent) VALUES (${customerId}, 1, ${campaignId}, ${sent}, ${sent})
      ON CONFLICT (customer_id, source_kind, source_id) DO UPDATE SET audience = excluded.audience, sent = excluded.sent`);
    announceCampaignChange(ctx, { customerId, campaignId });
  }
  const setStatus = ({ campaignId }: SeededCampaign, status: string) =>
    ctx.db.execute(sql`UPDATE campaign SET status = ${status}, updated_at = now() WHERE id = ${campaignId}`);
  const about = (uid: string) => (event: Changes) => event.changed.some((one) => one.uid === uid);

  test('gives the open ones, then rows, figures, new and deleted ones, and nothing of other customers', async () => {
    const one = await owned();
    const second = { ...one, ...(await seedCampaign(ctx.db, { subscribers: 1, customerId: one.customerId })) };
    const other = await owned();
    await setStatus(one, 'sending');
    const watched = watch<Changes>(one.token, CHANGES);
    expect(await watched.next()).toMatchObject({
      isGap: true,
      deletedUids: [],
      changed: [{ uid: one.campaignUid, status: 'sending', statistics: { sentCount: 0 } }],
    });
    await setStatus(other, 'paused');
    await setSent(one, 5);
    const figures = await watched.until((event) => event.changed[0]?.statistics.sentCount === 5);
    expect(figures.changed).toMatchObject([{ uid: one.campaignUid, statistics: { subscriberCount: 5 } }]);
    await setStatus(second, 'scheduled');
    // With what this process has just begun to listen to the same figures may come once more, by themselves or with the next change.
    expect((await watched.until(about(second.campaignUid))).changed).toContainEqual(
      expect.objectContaining({ uid: second.campaignUid, name: 'Campaign', status: 'scheduled' }),
    );
    const third = await seedCampaign(ctx.db, { subscribers: 1, customerId: one.customerId });
    expect(await watched.until(about(third.campaignUid))).toMatchObject({
      isGap: false,
      changed: [{ uid: third.campaignUid, status: 'new' }],
    });
    const REMOVE = 'mutation ($uid: String!) { deleteCampaign(uid: $uid) { __typename } }';
    await app.run(REMOVE, { uid: third.campaignUid }, one.token);
    expect(await watched.next()).toEqual({ isGap: false, changed: [], deletedUids: [third.campaignUid] });
  });

  test('a burst of changes arrives as few events, the last state among them, and is read once for all who watch', async () => {
    const campaign = await owned();
    const watched = Array.from({ length: 10 }, () => watch<Changes>(campaign.token, CHANGES));
    for (const one of watched) await one.next();
    // What this process has just begun to listen to is read again.
    await sleep(600);
    const events: number[] = [];
    const last = (event: Changes) => event.changed[0]?.statistics.sentCount === 40;
    const startedAt = performance.now();
    const { statements } = await countStatements(async () => {
      const reading = watched.map((one) => one.until((event) => (events.push(1), last(event))));
      for (let sent = 1; sent <= 40; sent++) await setSent(campaign, sent).then(() => sleep(20));
      await Promise.all(reading);
    });
    const readings = statements.filter((text) => text.includes('wait_until AS "waitUntil"')).length;
    const figures = statements.filter((text) => text.includes('refused_bounce_count')).length;
    expect(readings).toBeGreaterThan(0);
    expect(figures).toBe(readings);
    // Each reading is one event for each of them, and one from before may have waited.
    expect(events.length).toBeLessThanOrEqual((readings + 1) * watched.length);
    // Four a second: a busy machine needs longer for the forty changes.
    expect(readings).toBeLessThan(10 + (performance.now() - startedAt) / 250);
  });

  test('who reads slowly keeps nothing waiting: more changes than are kept are a gap', async () => {
    const { customerId, listId, token } = await owned();
    const viewer = { customerId, tokenId: 1n, userId: 1n } as unknown as NonNullable<typeof ctx.viewer>;
    const slow = watchCampaigns({ ...ctx, viewer }, app.notifications);
    const quick = watch<Changes>(token, CHANGES);
    expect((await slow.next()).value).toMatchObject({ isGap: true });
    await quick.next();
    const seen = new Set<string>();
    for (let round = 0; round < 3; round++) {
      const uids = Array.from({ length: 50 }, () => newUid());
      await ctx.db.execute(sql`
        INSERT INTO campaign (customer_id, uid, list_id, name) SELECT ${customerId}, uid, ${listId}, 'C' FROM unnest(${uids}::text[]) uid`);
      await quick.until((event) => {
        for (const { uid } of event.changed) seen.add(uid);
        return uids.every((uid) => seen.has(uid));
      });
    }
    const { value } = await slow.next();
    expect(value.isGap).toBe(true);
    expect(value.changed).toHaveLength(CHANGES_MAX);
    await slow.return?.();
  });

  test('after a lost connection of the listener everybody is told of a gap', async () => {
    const campaign = await owned();
    await setStatus(campaign, 'sending');
    const watched = watch<Changes>(campaign.token, CHANGES);
    await watched.next();
    await sleep(600);
    await queryRows(
      ctx.db,
      sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mailwright-listen' AND datname = current_database()`,
    );
    expect(await watched.until(({ isGap }) => isGap)).toMatchObject({ changed: [{ uid: campaign.campaignUid }] });
  });

  test('is for tokens that may read campaigns, and ends with them', async () => {
    const narrow = await app.newCustomer(['lists:read']);
    expect(await watch(narrow.token, CHANGES).next()).toContain('FORBIDDEN');
    const campaign = await owned();
    const watched = watch<Changes>(campaign.token, CHANGES);
    await watched.next();
    await ctx.db.execute(sql`UPDATE customer SET status = 'disabled' WHERE id = ${campaign.customerId}`);
    await watched.end();
    expect(watched.codes).toEqual([4401]);
  });
});

describe('installationQueue', () => {
  const addJob = (name: string, runAt: string) =>
    queryRows(ctx.db, sql`SELECT graphile_worker.add_job(${name}, run_at => now() + ${runAt}::interval)`);
  beforeAll(async () => {
    await enterProcess(ctx.db, {
      id: '00000000-0000-4000-8000-000000000001',
      ...{ host: 'worker-1', pid: 7, roles: ['worker'], version: '1', memoryMb: 80, isWorking: true },
    });
    // Nobody gives further signs of its life.
    await ctx.db.execute(sql`UPDATE hot.process SET seen_at = now() + interval '1 hour' WHERE host = 'worker-1'`);
  });

  test('gives the figures, then changes, as the query has them; read once for all who watch', async () => {
    await addJob('test.one', '-1 minute');
    const watched = Array.from({ length: 5 }, () => watch<Queue>(app.admin.token, QUEUE));
    for (const one of watched) {
      const state = await one.until(() => true);
      expect(state.tasks).toContainEqual(expect.objectContaining({ task: 'test.one', due: 1, later: 0, running: 0 }));
      expect(state.workersWorking).toBe(1);
      expect(state.processes).toEqual([{ host: 'worker-1', isWorking: true }]);
      expect(state.oldestDueSeconds).toBeGreaterThanOrEqual(60);
    }
    const startedAt = performance.now();
    const { statements } = await countStatements(async () => {
      await addJob('test.later', '1 hour');
      const fits = ({ tasks }: Queue) => tasks.some((one) => one.task === 'test.later' && one.later === 1);
      await Promise.all(watched.map((one) => one.until(fits)));
    });
    const readings = statements.filter((text) => text.includes('"oldestDueSeconds"')).length;
    expect(readings).toBeGreaterThan(0);
    // One in two seconds, and not one for each of them.
    expect(readings).toBeLessThanOrEqual(2 + (performance.now() - startedAt) / 2_000);
    const { data } = await app.run(
      '{ installation { ... on Installation { queue { later workersWorking tasks { task later } } } } }',
    );
    expect(data).toMatchObject({ installation: { queue: { workersWorking: 1 } } });
  });

  test('is for administrators, and ends when somebody is none any more', async () => {
    const { token, userId } = await app.newCustomer();
    expect(await watch(token, QUEUE).next()).toContain('FORBIDDEN');
    await ctx.db.execute(sql`UPDATE app_user SET is_admin = true WHERE id = ${userId}`);
    // Tokens are remembered for a moment (0433).
    await sleep(2_100);
    const watched = watch(token, QUEUE);
    expect(await watched.next()).toHaveProperty('due');
    await ctx.db.execute(sql`UPDATE app_user SET is_admin = false WHERE id = ${userId}`);
    await watched.end();
    expect(watched.codes).toEqual([4401]);
  });
});

test('a page that streams events gets them the same way', async () => {
  const campaign = await owned();
  const answer = await fetch(app.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      authorization: `Bearer ${campaign.token}`,
    },
    body: JSON.stringify({ query: CHANGES }),
  });
  const reader = answer.body?.getReader();
  const text = new TextDecoder();
  let seen = '';
  while (!seen.includes('"isGap":true')) seen += text.decode((await reader?.read())?.value);
  await ctx.db.execute(sql`UPDATE campaign SET name = 'Renamed' WHERE id = ${campaign.campaignId}`);
  while (!seen.includes('"name":"Renamed"')) seen += text.decode((await reader?.read())?.value);
  await reader?.cancel();
});
