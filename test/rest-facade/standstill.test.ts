/** A campaign that nobody works on says why: the installation is held, the disk is full, the database only reads. */
import { expect, test } from 'vitest';
import { raw, sql } from '../../src/db/database.ts';
import { probeDisk } from '../../src/db/probe-disk.ts';
import { hold } from '../../src/domain/installation/restore-guard.ts';
import { newUid } from '../../src/lib/ids.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp();
const tenant = await app.newTenant();
const { db, database } = app.ctx;

async function campaignIn(status: string): Promise<string> {
  const [listUid, uid] = [newUid(), newUid()];
  await db.execute(sql`
    INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name, remind_message)
    VALUES (${tenant.customerId}, ${listUid}, 'Friends', 'News', 'news@sender.example', 'Sender', 'You asked for it.')`);
  await db.execute(sql`
    INSERT INTO campaign (customer_id, uid, list_id, name, status)
    SELECT customer_id, ${uid}, id, 'News', ${status} FROM mail_list WHERE uid = ${listUid}`);
  return uid;
}

async function reasonsOf(uid: string): Promise<(string | null)[]> {
  const { body } = await app.rest(`/campaigns/${uid}`, { method: 'GET', token: tenant.token });
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${tenant.token}` },
    body: JSON.stringify({
      query: `query { campaign(uid: "${uid}") { ... on Campaign { statusReason statistics { statusReason } } } }`,
    }),
  });
  interface Told {
    data: { campaign: { statusReason: string | null; statistics: { statusReason: string | null } } };
  }
  const { campaign } = ((await response.json()) as Told).data;
  const rest = (body as { campaign: { status_reason: string | null } }).campaign.status_reason;
  return [rest, campaign.statusReason, campaign.statistics.statusReason];
}

/** What a statement throws there: PostgreSQL's own error with this code. */
function refuse(code: string): Promise<unknown> {
  const thrown = raw(`DO $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '${code}'; END $$`);
  return db.execute(thrown).catch(() => undefined);
}

/** A write where the database only reads. */
const writeInVain = () =>
  database
    .transaction(async (tx) => {
      await tx.execute(sql`SET TRANSACTION READ ONLY`);
      await tx.execute(sql`UPDATE campaign SET name = name`);
    })
    .catch(() => undefined);

const HELD = expect.stringMatching(
  /^The installation is on hold since 20.* UTC\. Nothing is sent until an administrator ends the hold\.$/,
);
const FULL = 'The disk of the database is full. Sending continues automatically when there is free space.';
const READS_ONLY = 'The database accepts no writes. Sending continues automatically when it does.';

test.each(['queued', 'sending'])('one that is %s', async (status) => {
  const uid = await campaignIn(status);
  expect(await reasonsOf(uid)).toEqual([null, null, null]);
  await hold(db, 'by hand');
  expect(await reasonsOf(uid)).toEqual([HELD, HELD, HELD]);
  // Every three seconds the process probes by itself whether it can write, and finds that it can: once more, then.
  await expect.poll(async () => (await refuse('53100'), reasonsOf(uid))).toEqual([FULL, FULL, FULL]);
  // If the process looked just then, it believes in a full disk until it looks the next time.
  await expect.poll(async () => (await probeDisk(database), reasonsOf(uid))).toEqual([HELD, HELD, HELD]);
  await db.execute(sql`DELETE FROM setting WHERE key = 'installation.hold'`);
  expect(await reasonsOf(uid)).toEqual([null, null, null]);
  await expect.poll(async () => (await writeInVain(), reasonsOf(uid))).toEqual([READS_ONLY, READS_ONLY, READS_ONLY]);
  await probeDisk(database);
  expect(await reasonsOf(uid)).toEqual([null, null, null]);
});

test('one that is paused keeps its own reason', async () => {
  const uid = await campaignIn('paused');
  await hold(db, 'by hand');
  expect(await reasonsOf(uid)).toEqual([null, null, null]);
  await db.execute(sql`DELETE FROM setting WHERE key = 'installation.hold'`);
});
