/** `npm run doctor` finds each fault that was made on purpose, says what to do, and names nobody; the same over GraphQL and REST. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { diagnose, worstOf, type Diagnosis } from '../../src/domain/installation/diagnostics.ts';
import { hold } from '../../src/domain/installation/restore-guard.ts';
import { freePort } from '../support/free-port.ts';
import { seedCampaign } from '../support/audience-rows.ts';
import { afterFile } from '../support/after-file.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { runScript, type RanScript, type ScriptSettings } from '../support/run-script.ts';
import { startRestApp } from '../support/rest-app.ts';
import { testInstallation } from '../support/test-context.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron' });
const { ctx } = app;
const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-doctor-'));
afterFile(() => rmSync(folder, { recursive: true, force: true }));
const SECRET = 'a-secret-that-nobody-may-read-0123456789';

const doctor = (words: readonly string[] = [], settings: ScriptSettings = {}): Promise<RanScript> =>
  runScript('doctor', words, {
    DATABASE_URL: ctx.database.url,
    DATA_DIR: folder,
    DNS_SERVERS: '127.0.0.1:1',
    ...settings,
  });

async function found(settings: ScriptSettings = {}): Promise<ReadonlyMap<string, Diagnosis>> {
  const { text } = await doctor(['--json'], settings);
  const { diagnostics }: { diagnostics: Diagnosis[] } = JSON.parse(text);
  return new Map(diagnostics.map((it) => [it.name, it]));
}

/** With a fault the check answers so, with advice; without it, it did not. */
const withFault = async (name: string, settings: ScriptSettings = {}) => (await found(settings)).get(name);

it('finds nothing wrong with what works', async () => {
  writeFileSync(path.join(folder, 'secret'), SECRET, { mode: 0o600 });
  const results = await found();
  for (const name of [
    'database',
    'clock',
    'migrations',
    'secret',
    'processes',
    'hold',
    'queue',
    'events',
    'campaigns',
    'plugins',
    'rights',
  ])
    expect(results.get(name), name).toMatchObject({ status: 'ok', advice: null });
  expect((await doctor()).text).toContain('sending_servers');
});

it('1: settings that are wrong', async () => {
  const ran = await doctor(['--json'], { PORT: 'abc', APP_SECRET: 'short-canary' });
  expect(ran).toMatchObject({ code: 1, text: expect.stringContaining('PORT is') });
  expect(ran.text).not.toContain('short-canary');
});

it('2: a database that does not answer', async () => {
  const url = `postgresql://me:canary-password@127.0.0.1:${await freePort()}/none`;
  const ran = await doctor([], { DATABASE_URL: url });
  expect(ran).toMatchObject({ code: 1, text: expect.stringContaining('ERROR    database:') });
  expect(ran.text).not.toContain('canary-password');
});

it('3: a secret that others can read, and 4: one that is missing', async () => {
  chmodSync(path.join(folder, 'secret'), 0o644);
  expect(await withFault('secret')).toMatchObject({ status: 'error', advice: expect.stringContaining('chmod 600') });
  rmSync(path.join(folder, 'secret'));
  expect(await withFault('secret')).toMatchObject({ status: 'error', message: expect.stringContaining('missing') });
  expect(await withFault('secret', { APP_SECRET: SECRET })).toMatchObject({ status: 'ok' });
  writeFileSync(path.join(folder, 'secret'), SECRET, { mode: 0o600 });
});

it('5: a migration that is missing, and one of a newer version', async () => {
  const name = '20261123000001_installation';
  const rename = (from: string, to: string) =>
    ctx.db.execute(sql`UPDATE _prisma_migrations SET migration_name = ${to} WHERE migration_name = ${from}`);
  await rename(name, '29991231000000_later');
  expect(await withFault('migrations')).toMatchObject({
    status: 'error',
    message: expect.stringContaining('29991231'),
  });
  await rename('29991231000000_later', name);
  await ctx.db.execute(sql`UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = ${name}`);
  expect(await withFault('migrations')).toMatchObject({
    status: 'error',
    advice: expect.stringContaining('npm start'),
  });
  await ctx.db.execute(sql`UPDATE _prisma_migrations SET rolled_back_at = NULL WHERE migration_name = ${name}`);
});

it('6: a setting of the database with which a crash loses data', async () => {
  const { pathname } = new URL(ctx.database.url);
  await ctx.database.pool.query(`ALTER DATABASE "${pathname.slice(1)}" SET synchronous_commit = off`);
  expect(await withFault('durability')).toMatchObject({
    status: 'error',
    message: expect.stringContaining('synchronous_commit'),
  });
  await ctx.database.pool.query(`ALTER DATABASE "${pathname.slice(1)}" RESET synchronous_commit`);
});

it('7: a clock that is wrong', async () => {
  const late = { ...ctx, clock: { ...ctx.clock, now: () => new Date(Date.now() - 3_600_000) } };
  const results = await diagnose(late);
  expect(results.find(({ name }) => name === 'clock')).toMatchObject({
    status: 'error',
    // Without the time in which the answer of the database was on its way.
    message: expect.stringMatching(/(3600|35[89]\d) seconds/),
  });
  expect(worstOf(results)).toBe('error');
});

it('8: a job that nobody takes', async () => {
  await ctx.db.execute(
    sql`SELECT graphile_worker.add_job('a-kind-that-no-worker-has', run_at => now() - interval '1 hour')`,
  );
  expect(await withFault('queue')).toMatchObject({
    status: 'error',
    message: expect.stringMatching(/waits for 3[67]\d\d seconds/),
  });
  await ctx.db.execute(
    sql`SELECT graphile_worker.complete_jobs(ARRAY(SELECT id FROM graphile_worker.jobs WHERE task_identifier = 'a-kind-that-no-worker-has'))`,
  );
});

it('9: an installation on hold', async () => {
  await hold(ctx.database, 'By a test.');
  expect(await withFault('hold')).toMatchObject({
    status: 'error',
    advice: expect.stringContaining('npm run end-hold'),
  });
  await ctx.db.execute(sql`DELETE FROM setting WHERE key = 'installation.hold'`);
});

it('10: a sending server that is paused, by its uid and without its name', async () => {
  const server = { settings: JSON.stringify({ host: 'canary.example' }), name: 'canary name' };
  await ctx.db.execute(
    sql`INSERT INTO sending_server (customer_id, uid, name, type, settings, is_system, updated_at)
        SELECT id, '00000000000ab', ${server.name}, 'smtp', ${server.settings}::jsonb, true, now() FROM customer ORDER BY id LIMIT 1`,
  );
  await ctx.db.execute(
    sql`INSERT INTO hot.sending_health (server_id, mailbox_group, state, failures, last_error)
        SELECT id, '', 'open', 3, 'canary error' FROM sending_server WHERE uid = '00000000000ab'`,
  );
  const check = await withFault('sending_servers');
  expect(check).toMatchObject({ status: 'error', message: expect.stringContaining('00000000000ab') });
  expect(JSON.stringify([...(await found())])).not.toContain('canary');
});

it('11: a bounce mailbox that cannot be read', async () => {
  await ctx.db.execute(
    sql`INSERT INTO bounce_handler (customer_id, uid, name, protocol, host, port, encryption, username, sealed_password, folder, is_system, failures, updated_at)
        SELECT id, '00000000000ac', 'canary', 'imap', 'canary.example', 993, 'tls', 'canary', '\\x00', 'INBOX', true, 4, now() FROM customer ORDER BY id LIMIT 1`,
  );
  expect(await withFault('bounces')).toMatchObject({
    status: 'error',
    message: expect.stringContaining('00000000000ac'),
  });
});

it('12: a BASE_URL that nobody reaches, and 13: name servers that do not answer', async () => {
  expect(await withFault('base_url')).toMatchObject({
    status: 'warning',
    advice: expect.stringContaining('Set BASE_URL'),
  });
  expect(await withFault('base_url', { BASE_URL: 'https://mail.example.com' })).toMatchObject({
    status: 'warning',
    message: expect.stringContaining('DNS could not be asked'),
  });
});

it('14: a stalled campaign', async () => {
  const { customerId, campaignId } = await seedCampaign(ctx.db, { subscribers: 1 });
  const stalled = async () => {
    await ctx.db.execute(
      sql`INSERT INTO hot.campaign_progress (customer_id, campaign_id, audience, open, expected_seconds, changed_at, alarmed_at)
          VALUES (${customerId}, ${campaignId}, 1, 1, 60, now() - interval '1 hour', now()) ON CONFLICT DO NOTHING`,
    );
    return withFault('campaigns');
  };
  // Each minute the program deletes what is not about a campaign under way.
  await expect.poll(stalled).toMatchObject({ status: 'error', message: expect.stringContaining('1 campaign.') });
});

it('15: a mail server that cannot be reached', async () => {
  const port = await freePort();
  const { text } = await doctor(['--connect', `127.0.0.1:${port}`]);
  expect(text).toContain(`No connection to 127.0.0.1, port ${port}`);
});

it('answers the same to administrators over REST and GraphQL, and to nobody else', async () => {
  const answer = await app.rest('/diagnostics');
  expect(answer).toMatchObject({ status: 200, body: { status: 'error' } });
  expect(answer.text).not.toContain('canary');
  expect(answer.text).not.toContain(testInstallation.secret);
  const { token } = await app.newTenant();
  expect(await app.rest('/diagnostics', { token })).toMatchObject({ status: 403 });
  const asked = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      query: '{ installation { ... on Installation { diagnostics { name status message advice } } } }',
    }),
  });
  const { data } = await asked.json();
  expect(data.installation.diagnostics).toContainEqual(
    expect.objectContaining({
      name: 'sending_servers',
      status: 'ERROR',
      message: expect.stringContaining('00000000000ab'),
    }),
  );
});

it('16: no process that sends', async () => {
  const { url } = await createTestDatabase();
  const results = await found({ DATABASE_URL: url });
  expect(results.get('processes')).toMatchObject({ status: 'error', message: expect.stringContaining('worker') });
});

it('17: a plugin that was switched off', async () => {
  await ctx.db.execute(
    sql`INSERT INTO plugin (vendor, name, version, title, is_bundled, error, switched_off_at) VALUES ('acme', 'harms', '1.0.0', 'canary', false, 'canary', now())`,
  );
  const check = await withFault('plugins');
  expect(check).toMatchObject({ status: 'error', message: expect.stringContaining('acme/harms') });
  expect(JSON.stringify(check)).not.toContain('canary');
  await ctx.db.execute(sql`DELETE FROM plugin WHERE vendor = 'acme'`);
});
