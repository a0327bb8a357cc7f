/** `npm run backup` while a campaign is sent, `npm run restore` elsewhere, and what both refuse. */
import { once } from 'node:events';
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openDatabase, sql, type Database } from '../../src/db/database.ts';
import { startCampaign } from '../../src/domain/campaigns/start-campaign.ts';
import { recordEvents } from '../../src/events/event-store.ts';
import { makeFollowers } from '../../src/events/follower-store.ts';
import { newUid } from '../../src/lib/ids.ts';
import { silentLog } from '../../src/lib/log.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { afterFile } from '../support/after-file.ts';
import { campaignWorld, copiesByRecipient } from '../support/campaign-world.ts';
import { caughtUp, startFollowers } from '../support/event-followers.ts';
import { startProgram } from '../support/program.ts';
import { runScript, startScript, type RanScript, type ScriptSettings } from '../support/run-script.ts';
import { scriptedSmtpServer, type SmtpEvent } from '../support/scripted-smtp-server.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';
import { createEmptyDatabase } from '../support/test-database.ts';

const ctx = await createTestContext();
await loadPlugins(path.resolve('plugins'), ctx.hooks);
const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-backup-'));
afterFile(() => rmSync(folder, { recursive: true, force: true }));
const RECIPIENTS = 300;
const ANSWER_MS = 20;
/** From this many messages on the server is so slow that the campaign is under way during the backup, however long that takes. */
const QUICK_ONES = 100;
const SLOW_ANSWER_MS = 1_000;

const settingsOf = (url: string): ScriptSettings => ({
  DATABASE_URL: url,
  DATA_DIR: folder,
  APP_SECRET: testInstallation.secret,
});
const run = (script: string, words: readonly string[], url = ctx.database.url): Promise<RanScript> =>
  runScript(script, words, settingsOf(url));

function open(url: string): Database {
  const database = openDatabase({ url, poolSize: 1, log: silentLog, applicationName: 'of-the-test' });
  afterFile(() => database.close());
  return database;
}

/** Rows, the counters that triggers keep, and the sequences. */
async function contents(url: string): Promise<unknown> {
  const database = open(url);
  const columns = { subscribers: 'int', counters: 'json', deliveries: 'int', keys: 'int', next: 'text?' } as const;
  return database.query(
    columns,
    sql`SELECT (SELECT count(*)::int FROM subscriber) AS subscribers,
               (SELECT coalesce(jsonb_agg(to_jsonb(c) ORDER BY c.list_id), '[]') FROM hot.list_counter c) AS counters,
               (SELECT count(*)::int FROM hot.delivery) AS deliveries,
               (SELECT count(*)::int FROM pg_constraint WHERE contype = 'f' AND convalidated) AS keys,
               (SELECT last_value::text FROM pg_sequences WHERE sequencename = 'campaign_id_seq') AS next`,
  );
}

it('copies an installation that is sending; the copy is on hold, and then sends what was left', async () => {
  const taken: { to: string }[] = [];
  let isSlow = true;
  const answer = ({ verb, session }: SmtpEvent): null | undefined => {
    if (verb !== 'CONTENT') return undefined;
    taken.push({ to: session.to ?? '' });
    const answerMs = isSlow && taken.length > QUICK_ONES ? SLOW_ANSWER_MS : ANSWER_MS;
    setTimeout(() => session.socket.destroyed || session.socket.write('250 taken\r\n'), answerMs);
    return null;
  };
  await using smtp = await scriptedSmtpServer({ answer });
  const world = await campaignWorld(ctx, {
    recipients: RECIPIENTS,
    smtpPort: smtp.port,
    server: { connections: 1, window: 1 },
  });
  const first = await startProgram({ DATABASE_URL: ctx.database.url, ROLES: 'web,worker', SEND_LEASE_SECONDS: '2' });
  await startCampaign(world.ctx, world.campaignUid);
  // By the ledger: of what the server has answered, the backup has what was written down before it.
  const sentTo = async () => {
    const rows = await ctx.db.query({ email: 'text' }, sql`SELECT email FROM hot.delivery WHERE state = 'sent'`);
    return rows.map(({ email }) => email);
  };
  while ((await sentTo()).length < 20) await sleep(10);
  const before = await sentTo();
  const file = path.join(folder, 'while-sending.backup');
  expect(await run('backup', [file])).toMatchObject({ code: 0, text: expect.stringContaining('written and checked') });
  await first.kill();
  isSlow = false;
  expect(taken.length, 'the campaign was still under way').toBeLessThan(RECIPIENTS);
  expect(statSync(file).mode & 0o777).toBe(0o600);

  const { url } = await createEmptyDatabase();
  const restored = await run('restore', [file], url);
  expect(restored, restored.text).toMatchObject({
    code: 0,
    text: expect.stringContaining('The secret is the one of the backup.'),
  });
  const sentByFirst = taken.length;
  const program = await startProgram({ DATABASE_URL: url, SEND_LEASE_SECONDS: '2' });
  const ready = await fetch(`${program.baseUrl}/readyz`);
  expect(await ready.json()).toMatchObject({ notes: [expect.stringContaining('on hold')] });
  expect((await run('end-hold', [], url)).text).toContain('restored from the backup of');
  expect(taken.length).toBe(sentByFirst);
  expect(await run('end-hold', ['continue'], url)).toMatchObject({ code: 0 });
  const copy = open(url);
  const status = async () => {
    const [row] = await copy.query(
      { status: 'text' },
      sql`SELECT status FROM campaign WHERE uid = ${world.campaignUid}`,
    );
    return row?.status;
  };
  while ((await status()) !== 'done') await sleep(50);
  await program.stop();
  const copies = copiesByRecipient(taken);
  expect(copies.size).toBe(RECIPIENTS);
  // Twice only who got it after the backup was begun.
  expect(before.filter((address) => copies.get(address) !== 1)).toEqual([]);
});

it('restores exactly what was there, also over an installation, and starts a hold', async () => {
  const file = path.join(folder, 'exact.backup');
  expect(await run('backup', [file])).toMatchObject({ code: 0 });
  const was = await contents(ctx.database.url);
  const { url } = await createEmptyDatabase();
  expect(await run('restore', [file], url)).toMatchObject({ code: 0 });
  expect(await contents(url)).toEqual(was);
  await open(url).execute(sql`DELETE FROM subscriber WHERE id % 2 = 0`);
  const refused = await run('restore', [file], url);
  expect(refused).toMatchObject({ code: 1, text: expect.stringContaining('add --yes') });
  expect(await contents(url)).not.toEqual(was);
  expect(await run('restore', [file, '--yes'], url)).toMatchObject({ code: 0 });
  expect(await contents(url)).toEqual(was);
  expect((await run('end-hold', [], url)).text).toContain('On hold since');
  // Triggers work again.
  await open(url).execute(sql`DELETE FROM subscriber WHERE id % 2 = 0`);
  expect(await contents(url)).not.toEqual(was);
});

it('goes on with the events after a restore: what no follower had read at the backup is read, then what happens later', async () => {
  const file = path.join(folder, 'events.backup');
  const [unread, later, name] = [newUid(), newUid(), `test-${newUid()}`];
  const event = (objectUid: string) => ({ kind: 'list_changed', customerId: null, objectUid, data: {} }) as const;
  await makeFollowers(ctx.db, [{ name, owner: 'test' }]);
  await recordEvents(ctx.db, [event(unread)]);
  expect(await run('backup', [file])).toMatchObject({ code: 0 });
  const { url } = await createEmptyDatabase();
  expect(await run('restore', [file], url)).toMatchObject({ code: 0 });
  const database = open(url);
  const got: string[] = [];
  await startFollowers({ database, log: silentLog }, [
    { name, owner: 'test', handle: async (events) => void got.push(...events.map(({ objectUid }) => objectUid)) },
  ]);
  await recordEvents(database, [event(later)]);
  await caughtUp(database, name);
  expect(got).toEqual([unread, later]);
});

it('refuses to replace a file, a damaged backup, a backup of a newer version and a running installation', async () => {
  const file = path.join(folder, 'first.backup');
  expect(await run('backup', [file])).toMatchObject({ code: 0 });
  expect(await run('backup', ['--verify', file])).toMatchObject({ code: 0, text: expect.stringContaining('is whole') });
  const content = readFileSync(file);
  expect(await run('backup', [file])).toMatchObject({ code: 1, text: expect.stringContaining('is not replaced') });
  expect(readFileSync(file).equals(content)).toBe(true);

  const cut = path.join(folder, 'cut.backup');
  copyFileSync(file, cut);
  truncateSync(cut, content.length >> 1);
  const changed = path.join(folder, 'changed.backup');
  const bytes = Buffer.from(content);
  bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
  writeFileSync(changed, bytes);
  const { url } = await createEmptyDatabase();
  for (const damaged of [cut, changed]) {
    expect(await run('backup', ['--verify', damaged])).toMatchObject({
      code: 1,
      text: expect.stringContaining('is damaged'),
    });
    expect(await run('restore', [damaged], url)).toMatchObject({
      code: 1,
      text: expect.stringContaining('is damaged'),
    });
  }
  const newer = path.join(folder, 'newer.backup');
  writeFileSync(
    newer,
    content.toString('latin1').replace('"migrations":["', '"migrations":["29991231000000_later","'),
    'latin1',
  );
  expect(await run('restore', [newer], url)).toMatchObject({ code: 1 });
  expect(await run('restore', [path.join(folder, 'none')], url)).toMatchObject({ code: 1 });

  const program = await startProgram({ DATABASE_URL: ctx.database.url, ROLES: 'web' });
  const busy = await run('restore', [file, '--yes']);
  expect(busy).toMatchObject({ code: 1, text: expect.stringContaining('Stop all its processes first') });
  await program.stop();
});

it('leaves nothing when it is cancelled', async () => {
  // Somebody changes the table `customer`, so the backup waits.
  const blocker = await ctx.database.connect('mailwright-test-blocker');
  await blocker.query('BEGIN; LOCK TABLE customer');
  const file = path.join(folder, 'cancelled.backup');
  const child = startScript('backup', [file], settingsOf(ctx.database.url));
  const closed = once(child, 'close');
  const waiting = sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'mailwright-script' AND wait_event_type = 'Lock'`;
  while ((await ctx.database.execute(waiting)) === 0) await sleep(20);
  child.kill('SIGINT');
  await closed;
  await blocker.end();
  expect(child.exitCode).toBe(130);
  expect(readdirSync(folder).filter((name) => name.includes('cancelled'))).toEqual([]);
});
