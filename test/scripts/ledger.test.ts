/** `npm run ledger`: what an operator reads, and that it fails when the figures do. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, it } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { campaignWorld } from '../support/campaign-world.ts';
import { createTestContext } from '../support/test-context.ts';

const ctx = await createTestContext();
const world = await campaignWorld(ctx, { recipients: 4, smtpPort: 1 });

function ledger(...args: readonly string[]): { code: number | null; text: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [path.resolve('scripts/ledger.ts'), ...args], {
    env: { PATH: process.env['PATH'], DATABASE_URL: ctx.database.url },
    encoding: 'utf8',
  });
  return { code: status, text: stdout + stderr };
}

it('says whether a campaign balances, and what became of anybody', async () => {
  expect(ledger('nothing')).toEqual({ code: 1, text: 'There is no campaign nothing.\n' });
  expect(ledger(world.campaignUid)).toMatchObject({ code: 0, text: expect.stringContaining('never started') });
  await fill();
  const balanced = ledger(world.campaignUid);
  expect(balanced.text).toContain('It balances.');
  expect(balanced.text).toMatch(/sent +2 +2\n/);
  expect(balanced.text).toContain('1 recipients were in doubt');
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
    sql`UPDATE hot.delivery SET state = 'failed' WHERE campaign_id = ${world.campaignId} AND email = 'p1@example.org'`,
  );
  const wrong = ledger(world.campaignUid);
  expect(wrong.code).toBe(1);
  expect(wrong.text).toContain('The counter sent shows 2, and there are 1 rows.');
});

async function fill(): Promise<void> {
  await ctx.db.query(sql`SELECT hot.ensure_partitions(current_date, current_date)`);
  await ctx.db.execute(
    sql`UPDATE campaign SET status = 'sending', planned_on = current_date, planned_at = now() WHERE id = ${world.campaignId}`,
  );
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery (planned_on, customer_id, campaign_id, subscriber_id, email, state, attempts, ambiguous_count, reply)
    SELECT current_date, customer_id, ${world.campaignId}, id, email,
           (CASE email WHEN 'p1@example.org' THEN 'sent' WHEN 'p2@example.org' THEN 'sent' WHEN 'p3@example.org' THEN 'skipped' ELSE 'queued' END)::hot.delivery_state,
           3, CASE email WHEN 'p1@example.org' THEN 1 ELSE 0 END, '250 taken' FROM subscriber`);
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery_counter (customer_id, campaign_id, audience, open, sent, skipped)
    SELECT customer_id, id, 4, 1, 2, 1 FROM campaign WHERE id = ${world.campaignId}`);
  await ctx.db.execute(sql`
    INSERT INTO hot.open_event (at, customer_id, campaign_id, subscriber_id, ip)
    SELECT now() - interval '1 minute', customer_id, campaign_id, subscriber_id, '192.0.2.1' FROM hot.delivery WHERE email = 'p1@example.org'`);
  await ctx.db.execute(sql`
    INSERT INTO hot.click_event (at, customer_id, campaign_id, subscriber_id, link_no, url)
    SELECT now(), customer_id, campaign_id, subscriber_id, 1, 'https://example.com/' FROM hot.delivery WHERE email = 'p1@example.org'`);
}
