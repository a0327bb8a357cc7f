/** Campaigns to segments with a plugin's condition: they reach exactly the people that one answer names, or wait, or end as an error. */
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { questionKey } from '../../src/domain/audience/segments/plugin-condition.ts';
import { deleteOldAnswers } from '../../src/domain/audience/segments/answer-store.ts';
import { planWholeCampaign } from '../../src/domain/campaigns/plan-whole-campaign.ts';
import { snapshotAudienceJob } from '../../src/jobs/campaign-jobs.ts';
import { enqueue } from '../../src/jobs/define-job.ts';
import { field, mailWorld, until } from '../support/mail-world.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';
import { answer, shop, SHOP_CODE } from '../support/shop-plugin.ts';

const dataDir = newDataDir();
const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0', DATA_DIR: dataDir });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
const tenant = await app.newTenant();
const { call, add, done, mailsTo, newCampaign, newList, statusOf } = mailWorld(app, tenant);

const condition = { plugin: 'acme/shop', name: 'acme_bought', values: { days: 30 } };
const bought = { pluginCondition: condition };
/** More than the first two slices of an audience. */
const OTHERS = 2_500;
const NAMES = ['ann', 'bob', 'cid', 'dan'] as const;

beforeAll(async () => {
  writePlugin(dataDir, 'acme/shop', { code: SHOP_CODE, rights: { customers: 'all' } });
  expect(await client.activate('acme/shop', { forAllCustomers: true })).toMatchObject({ isLive: true });
});

beforeEach(() => {
  shop.asked.length = 0;
});

/** A list on which four people are subscribed, two of them behind many others who are not, and a campaign to the rule. */
async function world(mark: string, rule: object) {
  const list = await newList();
  const address = (name: string) => `${name}@${mark}.example`;
  const uids: string[] = [];
  for (const name of NAMES.slice(0, 2)) uids.push(await add(list, address(name)));
  await app.ctx.db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status)
    SELECT ${tenant.customerId}, ${list.id}, e, e, 'unsubscribed' FROM generate_series(1, ${OTHERS}::int) n, concat('u', n, '@', ${mark}::text, '.example') e`);
  for (const name of NAMES.slice(2)) uids.push(await add(list, address(name)));
  const made = await call('POST', `/lists/${list.uid}/segments`, { name: 'S', rule });
  expect(made.status, made.text).toBe(201);
  const campaign = await newCampaign(list, { segment_uid: field(made, 'segment_uid') });
  const [row] = await queryRows<{ id: bigint }>(app.ctx.db, sql`SELECT id FROM campaign WHERE uid = ${campaign}`);
  const id = row?.id ?? 0n;
  const run = async () => {
    const answered = await call('POST', `/campaigns/${campaign}/run`);
    expect(answered.status, answered.text).toBe(200);
  };
  const got = async () => {
    const mails = await Promise.all(
      NAMES.map(async (name) => ((await mailsTo(address(name))).length > 0 ? [name] : [])),
    );
    return mails.flat();
  };
  const reason = async () => {
    const text = field(await call('GET', `/campaigns/${campaign}`), 'campaign', 'status_reason');
    return typeof text === 'string' ? text : '';
  };
  const recipients = async () =>
    (await queryRows(app.ctx.db, sql`SELECT 1 FROM hot.delivery WHERE source_id = ${id}`)).length;
  /** The job that waits for its next try runs now. */
  const tryNow = () =>
    enqueue(
      app.ctx.db,
      snapshotAudienceJob,
      { customerId: String(tenant.customerId), campaignId: String(id) },
      { key: `campaigns.plan:${id}` },
    );
  return { list, uids, campaign, id, run, got, reason, recipients, tryNow };
}

test('one is sent to the people whom the plugin names, by one answer for all of its slices', async () => {
  const { uids, campaign, id, run, got } = await world('buyers', { all: [bought, { email: { contains: '@' } }] });
  answer([uids[0]], [uids[3]]);
  await run();
  await done(campaign);
  expect(await got()).toEqual(['ann', 'dan']);
  expect(shop.asked.map(({ after }) => after)).toEqual([null, '1']);
  const [row] = await queryRows<{ asOf: string }>(
    app.ctx.db,
    sql`SELECT segment_snapshot ->> 'asOf' AS "asOf" FROM campaign WHERE id = ${id}`,
  );
  expect(shop.asked[0]?.asOf.toISOString()).toBe(row?.asOf);
}, 300_000);

test('one to people for whom it does not hold waits while the plugin fails, and loses and mails nobody', async () => {
  const { uids, campaign, run, got, reason, recipients, tryNow } = await world('negated', { none: [bought] });
  shop.find = () => {
    throw new Error('The shop is closed.');
  };
  await run();
  await until(async () => (await reason()).includes('acme/shop') || undefined);
  expect(await statusOf(campaign)).toBe('queued');
  expect(await reason()).toMatch(/condition acme_bought.*It failed.*asked again each minute until .*nobody gets it/);
  expect(await recipients()).toBe(0);
  await client.deactivate('acme/shop');
  await tryNow();
  await until(async () => (await reason()).includes('not active') || undefined);
  expect(await recipients()).toBe(0);
  await client.activate('acme/shop', { forAllCustomers: true });
  answer([uids[1], uids[2]]);
  await tryNow();
  await done(campaign);
  expect(await got()).toEqual(['ann', 'dan']);
  expect(await reason()).toBe('');
}, 300_000);

test('one whose plugin does not answer for an hour ends as an error, and can be run again', async () => {
  const { uids, campaign, id, run, got, reason, recipients, tryNow } = await world('late', { none: [bought] });
  shop.find = () => ({ uids: [], next: 'again' });
  await run();
  await until(async () => (await reason()).includes('too many pages') || undefined);
  await app.ctx.db.execute(sql`
    UPDATE campaign SET segment_snapshot = segment_snapshot || jsonb_build_object('asOf', to_char((now() - interval '61 minutes') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
     WHERE id = ${id}`);
  await tryNow();
  await until(async () => (await statusOf(campaign)) === 'error' || undefined);
  expect(await reason()).toMatch(/acme\/shop.*acme_bought.*too many pages.*run it again/);
  expect(await recipients()).toBe(0);
  answer(uids.slice(1));
  await run();
  await done(campaign);
  expect(await got()).toEqual(['ann']);
}, 300_000);

test('one whose answer is gone is paused, with nobody in its ledger, and asks again when it is resumed', async () => {
  const { uids, campaign, id, run, got, reason, recipients, tryNow } = await world('gone', bought);
  shop.find = () => {
    throw new Error('The shop is closed.');
  };
  await run();
  await until(async () => (await reason()).includes('It failed') || undefined);
  const answers = JSON.stringify({ [questionKey(condition)]: '999999' });
  await app.ctx.db.execute(sql`
    UPDATE campaign SET segment_snapshot = segment_snapshot || jsonb_build_object('answers', ${answers}::jsonb) WHERE id = ${id}`);
  await tryNow();
  await until(async () => (await statusOf(campaign)) === 'paused' || undefined);
  expect(await reason()).toContain('no longer there');
  expect(await recipients()).toBe(0);
  answer([uids[2]]);
  const resumed = await call('POST', `/campaigns/${campaign}/resume`);
  expect(resumed.status, resumed.text).toBe(200);
  await done(campaign);
  expect(await got()).toEqual(['cid']);
}, 300_000);

test('a dry run asks, too, and fails with the reason', async () => {
  const { uids, campaign } = await world('dry', bought);
  const over = async () => {
    await call('POST', `/campaigns/${campaign}/dry_run`);
    return until(async () => {
      const run = field(await call('GET', `/campaigns/${campaign}/dry_run`), 'dry_run');
      const status = Reflect.get(Object(run), 'status');
      return status === 'done' || status === 'failed' ? run : undefined;
    });
  };
  shop.find = () => {
    throw new Error('The shop is closed.');
  };
  expect(await over()).toMatchObject({ status: 'failed', status_reason: expect.stringContaining('acme/shop') });
  answer([uids[0], uids[3]]);
  expect(await over()).toMatchObject({ status: 'done', composed: 2 });
}, 300_000);

test('answers that nobody uses any more are deleted; one of a campaign that is not planned is kept', async () => {
  const { uids, list, campaign, id } = await world('swept', bought);
  answer([uids[0]]);
  const segment = field(await call('GET', `/campaigns/${campaign}`), 'campaign', 'segment_uid');
  expect(segment).toBeDefined();
  await call('POST', `/campaigns/${campaign}/dry_run`);
  const kept = () =>
    queryRows<{ id: bigint; blocks: number }>(
      app.ctx.db,
      sql`SELECT a.id, (SELECT count(*)::int FROM hot.segment_answer_block b WHERE b.answer_id = a.id) AS blocks
            FROM hot.segment_answer a WHERE a.list_id = ${list.id} AND a.complete_at IS NOT NULL`,
    );
  const [first] = await until(async () => ((await kept()).length > 0 ? kept() : undefined));
  expect(first?.blocks).toBe(1);
  const age = () =>
    app.ctx.db.execute(
      sql`UPDATE hot.segment_answer SET created_at = now() - interval '2 days' WHERE list_id = ${list.id}`,
    );
  await age();
  const use = (answers: object) =>
    app.ctx.db.execute(
      sql`UPDATE campaign SET segment_snapshot = ${JSON.stringify({ answers })}::jsonb WHERE id = ${id}`,
    );
  await use({ x: String(first?.id) });
  await deleteOldAnswers(app.ctx.db);
  expect(await kept()).toEqual([first]);
  await use({});
  await deleteOldAnswers(app.ctx.db);
  expect(await kept()).toEqual([]);
  expect(await queryRows(app.ctx.db, sql`SELECT 1 FROM hot.segment_answer_block WHERE list_id = ${list.id}`)).toEqual(
    [],
  );
}, 300_000);

test('a process that stops ends the question without a fault of the campaign: it is asked again', async () => {
  const { uids, campaign, id, got, reason, recipients, tryNow } = await world('stops', bought);
  const stopping = new AbortController();
  shop.find = ({ signal }) => {
    // At once, because the plugin has one second.
    setImmediate(() => {
      answer([uids[0]]);
      stopping.abort();
    });
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
  };
  // Under way without a job.
  await app.ctx.db.execute(sql`
    UPDATE campaign SET status = 'queued', started_at = now(), snapshot_on = current_date,
           segment_snapshot = jsonb_build_object('uid', '0123456789abc', 'name', 'S', 'rule', ${JSON.stringify(bought)}::jsonb, 'asOf', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
     WHERE id = ${id}`);
  const ctx = { ...app.ctx, hooks: app.hooks };
  const planned = planWholeCampaign(ctx, { customerId: tenant.customerId, campaignId: id }, stopping.signal);
  await until(async () => (shop.asked.length > 0 ? true : undefined));
  await planned;
  expect(await reason()).toBe('');
  await tryNow();
  await done(campaign);
  expect(await got()).toEqual(['ann']);
  expect(await recipients()).toBe(1);
}, 300_000);
