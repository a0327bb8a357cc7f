/** Mails outlive lists: when a list is deleted, every link in them still answers, alike and in words that help. */
import { expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { startInboundServer } from './inbound-server.ts';

const { ctx, seeded, signer, links, here } = await startInboundServer();

test('every link of a deleted list answers in a friendly way', async () => {
  const { customerId, listId, campaignId, subscriberIds } = seeded;
  const person = { customerId, listId, subscriberId: subscriberIds[0] ?? 0n };
  const recipient = recipientOfCampaign({ ...person, campaignId: 0n });
  const own = links(0);
  const elsewhere = signer.forRecipient(recipientOfCampaign({ ...person, campaignId: campaignId + 1_000n }));
  await ctx.db.execute(sql`DELETE FROM mail_list WHERE customer_id = ${customerId} AND id = ${listId}`);
  const pages = [
    own.unsubscribe(),
    own.updateProfile(),
    elsewhere.webView(),
    signer.confirmation(recipient, new Date()),
  ];
  expect(own.webView()).toContain('/view/');
  for (const address of pages) {
    for (const method of ['GET', 'HEAD']) expect((await fetch(here(address), { method })).status, address).toBe(200);
    expect(await (await fetch(here(address))).text(), address).toMatch(/no longer.*You do not have to do\s+anything/s);
  }
  for (const address of [own.unsubscribe(), own.updateProfile(), signer.confirmation(recipient, new Date())])
    expect((await fetch(here(address), { method: 'POST' })).status, address).toBe(200);
  const clicked = await fetch(here(own.click(0, 'https://example.org/')), { redirect: 'manual' });
  expect([clicked.status, clicked.headers.get('location')]).toEqual([302, 'https://example.org/']);
  const opened = await fetch(here(own.open()));
  expect([opened.status, opened.headers.get('content-type')]).toEqual([200, 'image/gif']);
});
