/** `npm run ledger`: what an operator reads, and that it fails when the figures do. */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { OBSERVED } from '../support/check-statements.ts';
import { campaignWorld } from '../support/campaign-world.ts';
import { createTestContext } from '../support/test-context.ts';

const ctx = await createTestContext();
const world = await campaignWorld(ctx, { recipients: 4, smtpPort: 1 });

const ledger = (...args: readonly string[]) => ledgerOf({ DATABASE_URL: ctx.database.url }, args);

function ledgerOf(env: Record<string, string>, args: readonly string[]): { code: number | null; text: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [path.resolve('scripts/ledger.ts'), ...args], {
    env: { PATH: process.env['PATH'], ...OBSERVED, ...env },
    encoding: 'utf8',
  });
  return { code: status, text: stdout + stderr };
}

it('says how it is called, and that all is well of nothing that was not asked', () => {
  expect(ledger('--help')).toEqual({ code: 0, text: expect.stringContaining('npm run ledger') });
  for (const args of [[], ['--all'], ['uid', 'ann@example.org', 'bob@example.org'], ['uid', '--json']])
    expect(ledger(...args)).toEqual({ code: 1, text: expect.stringContaining('npm run ledger') });
});

it('makes no database where there is none, and says where to look', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'ledger-'));
  const nowhere = ledgerOf({ DATA_DIR: folder }, ['uid']);
  expect(nowhere).toEqual({
    code: 1,
    text: expect.stringContaining(`There is no installation in ${folder}. Set DATA_DIR`),
  });
  expect(await readdir(folder)).toEqual([]);
  await rm(folder, { recursive: true });
  const name = `empty_${randomUUID().replaceAll('-', '')}`;
  await ctx.db.execute(sql([`CREATE DATABASE ${name} TEMPLATE template0`]));
  const url = new URL(ctx.database.url);
  url.pathname = `/${name}`;
  expect(ledgerOf({ DATABASE_URL: url.href }, ['uid'])).toEqual({
    code: 1,
    text: expect.stringContaining('holds no installation'),
  });
  await ctx.db.execute(sql([`DROP DATABASE ${name}`]));
});

it('says whether a campaign balances, and what became of anybody', async () => {
  expect(ledger('nothing')).toEqual({ code: 1, text: 'There is no campaign nothing.\n' });
  expect(ledger(world.campaignUid)).toMatchObject({ code: 0, text: expect.stringContaining('never started') });
  await fill();
  const balanced = ledger(world.campaignUid);
  expect(balanced.text).toContain('It balances.');
  expect(balanced.text).toMatch(/sent +2 +2\n/);
  expect(balanced.text).toContain('1 recipient was in doubt after a crash or a lost connection, up to 1 time:');
  expect(balanced.code).toBe(0);

  const story = ledger(world.campaignUid, 'P1@example.org').text;
  for (const part of [
    'p1@example.org: sent',
    '3 tries',
    '250 taken',
    'opened: 192.0.2.1',
    'clicked: https://example.com/',
  ])
    expect(story).toContain(part);
  expect(story.indexOf('opened')).toBeLessThan(story.indexOf('clicked'));
  expect(ledger(world.campaignUid, 'stranger@example.org')).toMatchObject({ code: 1 });

  await ctx.db.execute(
    sql`UPDATE hot.delivery SET state = 'failed' WHERE source_id = ${world.campaignId} AND email = 'p1@example.org'`,
  );
  const wrong = ledger(world.campaignUid);
  expect(wrong.code).toBe(1);
  expect(wrong.text).toContain('The counter sent shows 2, and there are 1 rows.');
});

async function fill(): Promise<void> {
  await queryRows(ctx.db, sql`SELECT hot.ensure_partitions(current_date, current_date)`);
  await ctx.db.execute(
    sql`UPDATE campaign SET status = 'sending', snapshot_on = current_date, snapshot_at = now() WHERE id = ${world.campaignId}`,
  );
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, email, state, attempts, ambiguous_count, reply)
    SELECT current_date, customer_id, 1, ${world.campaignId}, id, email,
           (CASE email WHEN 'p1@example.org' THEN 'sent' WHEN 'p2@example.org' THEN 'sent' WHEN 'p3@example.org' THEN 'skipped' ELSE 'queued' END)::hot.delivery_state,
           3, CASE email WHEN 'p1@example.org' THEN 1 ELSE 0 END, '250 taken' FROM subscriber`);
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, open, sent, skipped)
    SELECT customer_id, 1, id, 4, 1, 2, 1 FROM campaign WHERE id = ${world.campaignId}`);
  await ctx.db.execute(sql`
    INSERT INTO hot.open_event (at, customer_id, source_kind, source_id, recipient_id, ip)
    SELECT now() - interval '1 minute', customer_id, 1, source_id, recipient_id, '192.0.2.1' FROM hot.delivery WHERE email = 'p1@example.org'`);
  await ctx.db.execute(sql`
    INSERT INTO hot.click_event (at, customer_id, source_kind, source_id, recipient_id, link_no, url)
    SELECT now(), customer_id, 1, source_id, recipient_id, 1, 'https://example.com/' FROM hot.delivery WHERE email = 'p1@example.org'`);
}
