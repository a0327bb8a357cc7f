/** Opens that a click implies are counted once and shown apart, and the open log has a row for each (decision D63). */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { raw, sql } from '../../src/db/database.ts';
import { statisticsFeedOf } from '../../src/domain/statistics/statistics-feed.ts';
import { openNotifications } from '../../src/db/listen.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { silentLog } from '../../src/lib/log.ts';
import { seedCampaign, type SeededCampaign } from '../support/audience-rows.ts';
import { afterFile } from '../support/after-file.ts';
import { recordTrackingEvents } from '../support/record-tracking-events.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();
const { db } = app.ctx;
const tenant = await app.newTenant();
const MIGRATION = 'prisma/migrations/20261123172300_opens_apart/migration.sql';

/** One who displays, one who clicks only, one who clicks and displays later, one whose machine displays, one machine that clicks. */
async function played(seeded: SeededCampaign): Promise<void> {
  const { customerId, campaignId, listId } = seeded;
  const act = (who: number, link: number | null, isMachine = false) => ({
    recipient: recipientOfCampaign({ customerId, campaignId, listId, subscriberId: seeded.subscriberIds[who] ?? 0n }),
    visitor: { ip: '192.0.2.7', userAgent: 'Reader', isMachine, looksAhead: false },
    linkNo: link,
    url: link === null ? null : 'https://example.org/',
  });
  await recordTrackingEvents(app.ctx, [act(0, null), act(0, null), act(1, 1), act(2, 1)]);
  await recordTrackingEvents(app.ctx, [act(0, 1), act(1, 1), act(2, null), act(3, null, true), act(4, 1, true)]);
}

const EXPECTED = { human: 3, machine: 1, implied: 3 };

test('displays by people, by machines and implied opens add up to all opens, in figures and log', async () => {
  const seeded = await seedCampaign(db, { subscribers: 5, customerId: tenant.customerId });
  await played(seeded);
  const read = await app.rest(`/campaigns/${seeded.campaignUid}`, { token: tenant.token });
  const figures = {
    open_count: 7,
    human_open_count: 3,
    machine_open_count: 1,
    implied_open_count: 3,
    uniq_open_count: 5,
  };
  expect(read.body).toMatchObject({ statistics: figures });
  const query = `query { campaign(uid: "${seeded.campaignUid}") { ... on Campaign { statistics {
    openCount humanOpenCount machineOpenCount impliedOpenCount humanUniqOpenCount } } } }`;
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${tenant.token}` },
    body: JSON.stringify({ query }),
  });
  const inGraphql = {
    openCount: 7,
    humanOpenCount: 3,
    machineOpenCount: 1,
    impliedOpenCount: 3,
    humanUniqOpenCount: 3,
  };
  expect(await response.json()).toEqual({ data: { campaign: { statistics: inGraphql } } });
  const log = await app.rest(`/campaigns/${seeded.campaignUid}/open-log/download?type=json`, { token: tenant.token });
  const kinds = (log.body as { kind: string }[]).map(({ kind }) => kind);
  for (const [kind, count] of Object.entries(EXPECTED))
    expect([kind, kinds.filter((one) => one === kind).length]).toEqual([kind, count]);
  expect(kinds).toHaveLength(7);
  expect(Object.keys((log.body as object[])[0] ?? {}).slice(-5)).toEqual([
    'ip',
    'user_agent',
    'country',
    'is_machine',
    'kind',
  ]);
});

test('the live statistics have them, too', async () => {
  const seeded = await seedCampaign(db, { subscribers: 5, customerId: tenant.customerId });
  const notifications = openNotifications(app.ctx.database, silentLog);
  afterFile(() => notifications.close());
  await played(seeded);
  const feed = statisticsFeedOf(app.ctx, notifications).watch(seeded);
  const { value } = await feed.next();
  expect(value).toMatchObject({ openCount: 7, humanOpenCount: 3, machineOpenCount: 1, impliedOpenCount: 3 });
  await feed.return?.();
});

test('figures of an earlier version, in which people had the implied opens, are carried over', async () => {
  const seeded = await seedCampaign(db, { subscribers: 5, customerId: tenant.customerId });
  await played(seeded);
  // As it was: a person who is known by clicks only had opened once.
  await db.execute(
    sql`UPDATE hot.tracking_counter SET human_open_count = human_open_count + 1 WHERE source_id = ${seeded.campaignId}`,
  );
  await db.execute(raw(await readFile(MIGRATION, 'utf8')));
  const rows = await queryRows(
    db,
    sql`SELECT open_count AS all, human_open_count AS human, machine_open_count AS machine FROM hot.tracking_counter WHERE source_id = ${seeded.campaignId}`,
  );
  expect(rows).toEqual([{ all: 7, human: 3, machine: 1 }]);
});
