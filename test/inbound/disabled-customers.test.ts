/** The mails of a disabled customer: their links stop, and whoever got them can still leave. */
import { describe, expect, test, vi } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { watchDisabledCustomers } from '../../src/domain/accounts/disabled-customers.ts';
import { eraseCustomer } from '../../src/domain/accounts/erase-customer.ts';
import { silentLog } from '../../src/lib/log.ts';
import { untilCounted } from '../support/record-tracking-events.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { startInboundServer } from './inbound-server.ts';

const { ctx, seeded, signer, links, here, status } = await startInboundServer();
const BROWSER = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0' };
const click = here(links(0).click(0, 'https://example.org/offer'));
const follow = async (method = 'GET', address = click) => {
  const response = await fetch(address, { method, redirect: 'manual', headers: BROWSER });
  return [response.status, response.headers.get('location')];
};
const setStatus = (to: 'active' | 'disabled') =>
  ctx.db.execute(sql`UPDATE customer SET status = ${to} WHERE id = ${seeded.customerId}`);

async function opens(): Promise<number> {
  await untilCounted(ctx);
  const [row] = await queryRows<{ n: number }>(ctx.db, sql`SELECT count(*)::int AS n FROM hot.open_event`);
  return row?.n ?? 0;
}

test('who is disabled is known before the first link is served, and a failed look is logged', async () => {
  await setStatus('disabled');
  let isAway = false;
  const warn = vi.fn();
  const query: typeof ctx.db.query = (...statement) =>
    isAway ? Promise.reject(new Error('away')) : ctx.db.query(...statement);
  const watch = await watchDisabledCustomers({ db: { ...ctx.db, query }, log: { ...silentLog, warn } });
  expect(watch.has(seeded.customerId)).toBe(true);
  isAway = true;
  const failed = ['accounts.disabled_customers_not_read', { message: 'away' }];
  await expect.poll(() => warn.mock.calls, { timeout: 120_000 }).toContainEqual(failed);
  expect(watch.has(seeded.customerId)).toBe(true);
  watch.close();
  await expect(watchDisabledCustomers({ db: { ...ctx.db, query }, log: silentLog })).rejects.toThrow('away');
  await setStatus('active');
  await expect.poll(() => follow(), { timeout: 120_000 }).toEqual([302, 'https://example.org/offer']);
});

describe('the links of a customer', () => {
  test('work, stop soon after it is disabled, and work again when it is enabled', async () => {
    expect(await follow()).toEqual([302, 'https://example.org/offer']);
    await setStatus('disabled');
    await expect.poll(() => follow()).toEqual([410, null]);
    // Read by either way of the server, and with what programs take along.
    for (const [method, address] of [
      ['HEAD', click],
      ['GET', `${click}).`],
      ['GET', here(links(1).webView())],
    ] as const)
      expect(await follow(method, address)).toEqual([410, null]);
    expect(await (await fetch(click)).text()).toContain('The link to unsubscribe in the message still works.');
    const before = await opens();
    expect(await follow('GET', here(links(2).open()))).toEqual([200, null]);
    expect(await opens()).toBe(before);
    await setStatus('active');
    await expect.poll(() => follow()).toEqual([302, 'https://example.org/offer']);
    expect(await (await fetch(here(links(1).webView()))).text()).toContain('<h1>News &amp; more</h1>');
  });

  test('to unsubscribe and to change one’s details work while it is disabled', async () => {
    await setStatus('disabled');
    await expect.poll(() => follow()).toEqual([410, null]);
    expect((await fetch(here(links(3).updateProfile()))).status).toBe(200);
    const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
    expect((await fetch(here(links(3).unsubscribe()), { method: 'POST', body })).status).toBe(200);
    expect(await status(3)).toBe('unsubscribed');
  });

  test('of others go on', async () => {
    const other = recipientOfCampaign({
      customerId: seeded.customerId + 1_000n,
      listId: 1n,
      campaignId: 1n,
      subscriberId: 1n,
    });
    const address = here(signer.forRecipient(other).click(0, 'https://example.net/'));
    expect(await follow()).toEqual([410, null]);
    expect(await follow('GET', address)).toEqual([302, 'https://example.net/']);
  });

  test('do not lead again once it was deleted and erased, of which nothing stays but its id and the time', async () => {
    const { customerId } = seeded;
    await ctx.db.execute(sql`UPDATE customer SET status = 'deleting' WHERE id = ${customerId}`);
    expect(await eraseCustomer(ctx, { customerId, isStopping: () => false })).toBe(true);
    expect(await queryRows(ctx.db, sql`SELECT 1 FROM customer WHERE id = ${customerId}`)).toEqual([]);
    const watch = await watchDisabledCustomers({ db: ctx.db, log: silentLog });
    expect(watch.has(customerId)).toBe(true);
    watch.close();
    expect(await follow()).toEqual([410, null]);
    const kept = await queryRows(ctx.db, sql`SELECT * FROM erased_customer`);
    expect(kept).toEqual([{ id: customerId, erased_at: expect.any(Date) }]);
  });
});
