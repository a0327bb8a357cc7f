/** The web view of a campaign: compiled once for those who come together, and never older than the campaign. */
import { expect, test, vi } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import type * as PlanThread from '../../../src/domain/content/plan-thread.ts';
import { webViewOf } from '../../../src/domain/delivery/campaigns/web-view.ts';
import { seedCampaign } from '../../support/audience-rows.ts';
import { recipientOfCampaign } from '../../../src/domain/tracking/tracking.ts';
import { createTestContext } from '../../support/test-context.ts';

const compiled: string[] = [];
const state = { fails: false };
vi.mock('../../../src/domain/content/plan-thread.ts', async (original) => {
  const real = await original<typeof PlanThread>();
  return {
    ...real,
    planInThread: (source: Parameters<typeof PlanThread.planInThread>[0]) => {
      compiled.push(source.html ?? '');
      return state.fails ? Promise.reject(new Error('busy')) : real.planInThread(source);
    },
  };
});

const ctx = await createTestContext();
const { customerId, listId, campaignId, subscriberIds } = await seedCampaign(ctx.db, { subscribers: 5 });
const write = (html: string) =>
  ctx.db.execute(
    sql`UPDATE campaign SET html = ${html}, subject = 'S', from_email = 'news@sender.example', from_name = 'N' WHERE id = ${campaignId}`,
  );
const view = (subscriberId: bigint) =>
  webViewOf(ctx, recipientOfCampaign({ customerId, listId, campaignId, subscriberId })).then((page) => page?.html);

test('readers who come together cause one compilation, and each gets a page of their own', async () => {
  await write('<p>Hello {EMAIL}</p>');
  const pages = await Promise.all(subscriberIds.map(view));
  expect(pages.map((page) => /p\d@example\.org/.exec(page ?? '')?.[0])).toEqual(
    [1, 2, 3, 4, 5].map((no) => `p${no}@example.org`),
  );
  expect(compiled).toEqual(['<p>Hello {EMAIL}</p>']);
});

test('a changed campaign shows at once, and a compilation that failed is not kept', async () => {
  await write('<p>Changed</p>');
  expect(await view(subscriberIds[0] ?? 0n)).toContain('Changed');
  await write('<p>Again</p>');
  state.fails = true;
  await expect(view(subscriberIds[0] ?? 0n)).rejects.toThrow('busy');
  state.fails = false;
  expect(await view(subscriberIds[0] ?? 0n)).toContain('Again');
});
