import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { onBusyMachine } from '../support/busy-machine.ts';
import { startInboundServer } from './inbound-server.ts';

const { ctx, seeded, links, here, status } = await startInboundServer();

const SCANNERS = [
  '',
  'Mozilla/5.0',
  'node',
  'curl/8.5.0',
  'Wget/1.21',
  'python-requests/2.31',
  'Go-http-client/2.0',
  'okhttp/4.12',
  'Java/17.0.2',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'Mozilla/5.0 (compatible; bingbot/2.0)',
  'BingPreview/1.0b',
  'Slackbot-LinkExpanding 1.0',
  'facebookexternalhit/1.1',
  'WhatsApp/2.23',
  'TelegramBot (like TwitterBot)',
  'LinkedInBot/1.0',
  'Twitterbot/1.0',
  'Discordbot/2.0',
  'SkypeUriPreview Preview/0.5',
  'Mozilla/5.0 (Windows NT 10.0) Barracuda Sentinel (EE)',
  'Proofpoint URL Defense',
  'Mimecast URL scanner',
  'Symantec Email Security.cloud',
  'TrendMicro WTP',
  'Cisco-IronPort',
  'FireEye',
  'Forcepoint',
  'Sophos Email',
  'Zscaler',
  'Bitdefender',
  'Kaspersky',
  'VirusTotal',
  'urlscan.io',
  'HeadlessChrome/120',
  'PhantomJS/2.1',
  'Apache-HttpClient/4.5',
  'axios/1.6',
  'undici',
  'PostmanRuntime/7.36',
  'libwww-perl/6',
  'Ruby',
  'PHP/8.2',
  'GuzzleHttp/7',
  'Embedly/0.2',
  'Feedfetcher-Google',
  'Yahoo! Slurp',
  'YandexBot/3.0',
  'DuckDuckBot/1.1',
  'AppleBot/0.1',
];

function post(who: number, body: BodyInit, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(here(links(who).unsubscribe()), { method: 'POST', body, headers, redirect: 'manual' });
}

async function unsubscribes(): Promise<{ events: number; counted: number; consents: number }> {
  const [row] = await queryRows<{ events: number; counted: number; consents: number }>(
    ctx.db,
    sql`
    SELECT (SELECT count(*)::int FROM hot.unsubscribe_event) AS events,
           (SELECT coalesce(sum(unsubscribe_count), 0)::int FROM hot.tracking_counter) AS counted,
           (SELECT count(*)::int FROM consent_event WHERE status = 'unsubscribed') AS consents`,
  );
  if (!row) throw new Error('no row');
  return row;
}

describe('looking at the link', () => {
  test('by fifty scanners with GET, HEAD and OPTIONS unsubscribes nobody (B2)', async () => {
    expect(SCANNERS).toHaveLength(50);
    for (const agent of SCANNERS) {
      for (const method of ['GET', 'HEAD', 'OPTIONS']) {
        const response = await fetch(here(links(0).unsubscribe()), {
          method,
          headers: { 'User-Agent': agent, 'Sec-Purpose': 'prefetch' },
        });
        expect(response.status).toBe(method === 'OPTIONS' ? 204 : 200);
        await response.text();
      }
    }
    expect(await status(0)).toBe('subscribed');
    expect(await unsubscribes()).toEqual({ events: 0, counted: 0, consents: 0 });
  });

  test('shows a page that works without script and says nothing about the reader to strangers', async () => {
    const response = await fetch(here(links(0).unsubscribe()));
    const page = await response.text();
    expect(page).toContain('<form method="post">');
    expect(page).toContain('<html lang="en" dir="ltr">');
    expect(page).toContain('name="viewport"');
    expect(page).toContain('p…@example.org');
    expect(page).not.toContain('p1@example.org');
    expect(page).not.toContain('<script');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('set-cookie')).toBeNull();
  });

  test('another link of the same message unsubscribes nobody: a click, an open, the web view, the profile page', async () => {
    const own = links(0);
    const address = here(own.unsubscribe());
    const tokens = [own.click(0, 'https://example.org/'), own.open(), own.webView(), own.updateProfile()].flatMap(
      (link) => {
        const token = link.slice(link.lastIndexOf('/') + 1);
        return [token, token.split('.')[0] ?? ''];
      },
    );
    const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
    for (const token of tokens)
      expect((await fetch(address.replace(/[^/]+$/, token), { method: 'POST', body })).status).toBe(404);
    expect(await status(0)).toBe('subscribed');
    expect(await unsubscribes()).toEqual({ events: 0, counted: 0, consents: 0 });
  });

  test('other methods are refused by name', async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      const response = await fetch(here(links(0).unsubscribe()), { method });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST, OPTIONS']);
    }
    expect(await status(0)).toBe('subscribed');
  });
});

describe('posting to the link', () => {
  test('one click, urlencoded: at once, no cookie, no redirect; again: no change', async () => {
    const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const startedAt = performance.now();
    const response = await post(1, 'List-Unsubscribe=One-Click', type);
    expect(performance.now() - startedAt).toBeLessThan(onBusyMachine(1_000));
    expect([response.status, response.headers.get('set-cookie'), response.redirected]).toEqual([200, null, false]);
    expect(await status(1)).toBe('unsubscribed');
    const once = await unsubscribes();
    expect(once).toEqual({ events: 1, counted: 1, consents: 1 });
    const again = await Promise.all([1, 2, 3].map(() => post(1, 'List-Unsubscribe=One-Click', type)));
    expect(again.map((answer) => answer.status)).toEqual([200, 200, 200]);
    expect(await unsubscribes()).toEqual(once);
    expect(
      await queryRows(
        ctx.db,
        sql`SELECT source, ip_address FROM consent_event WHERE subscriber_id = ${seeded.subscriberIds[1]}`,
      ),
    ).toEqual([{ source: 'one-click', ip_address: '127.0.0.1' }]);
  });

  test('one click, multipart, twenty at the same moment: once', async () => {
    const before = await unsubscribes();
    const form = () => {
      const data = new FormData();
      data.set('List-Unsubscribe', 'One-Click');
      return data;
    };
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(2, form())));
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([200]));
    expect(await status(2)).toBe('unsubscribed');
    const after = await unsubscribes();
    expect([after.events - before.events, after.counted - before.counted, after.consents - before.consents]).toEqual([
      1, 1, 1,
    ]);
  });

  test("the page's own form, with a reason that is kept and one that is not", async () => {
    const page = await (await fetch(here(links(3).unsubscribe()))).text();
    expect(page).toContain('<option value="never_signed_up">I never signed up</option>');
    await post(3, new URLSearchParams({ reason: 'never_signed_up' }));
    await post(4, new URLSearchParams({ reason: '<script>' }));
    const rows = await queryRows<{ reason: string | null }>(
      ctx.db,
      sql`SELECT reason FROM hot.unsubscribe_event WHERE recipient_id IN (${seeded.subscriberIds[3]}, ${seeded.subscriberIds[4]}) ORDER BY recipient_id`,
    );
    expect(rows.map(({ reason }) => reason)).toEqual(['never_signed_up', null]);
    expect(await (await fetch(here(links(3).unsubscribe()))).text()).toContain('You are unsubscribed');
  });

  test('a body too large is refused; a forged link does nothing', async () => {
    const large = await post(0, 'x'.repeat(10_000));
    expect(large.status).toBe(413);
    const forged = await fetch(`${here(links(0).unsubscribe())}x`, {
      method: 'POST',
      body: 'List-Unsubscribe=One-Click',
    });
    expect(forged.status).toBe(404);
    expect(await forged.text()).toContain('does not work');
    expect(await status(0)).toBe('subscribed');
  });

  test('a body that is no form still means it', async () => {
    expect((await post(0, '{"a":1}', { 'Content-Type': 'application/json' })).status).toBe(200);
    expect(await status(0)).toBe('unsubscribed');
  });

  test('whoever is gone already is told so, with success', async () => {
    await ctx.db.execute(sql`DELETE FROM subscriber WHERE id = ${seeded.subscriberIds[4]}`);
    const response = await post(4, 'List-Unsubscribe=One-Click');
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('not on this list');
  });
});

describe('somebody who was deleted and added again', () => {
  /** The campaign's ledger knows where its mail went. */
  const sentTo = async (who: number, email: string) => {
    const { customerId, campaignId, subscriberIds } = seeded;
    await ctx.db.execute(sql`UPDATE campaign SET snapshot_on = current_date WHERE id = ${campaignId}`);
    await ctx.db.execute(sql`
      INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, email, state)
      VALUES (current_date, ${customerId}, 1, ${campaignId}, ${subscriberIds[who]}, ${email}, 'sent')`);
    await ctx.db.execute(sql`DELETE FROM subscriber WHERE id = ${subscriberIds[who]}`);
  };
  const add = async (email: string) => {
    const [row] = await queryRows<{ id: bigint }>(
      ctx.db,
      sql`
      INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
      VALUES (${seeded.customerId}, ${seeded.listId}, ${email}, lower(${email}), 'subscribed', '{}') RETURNING id`,
    );
    return row?.id;
  };
  const statusOf = async (id: bigint | undefined) =>
    (await queryRows<{ status: string }>(ctx.db, sql`SELECT status FROM subscriber WHERE id = ${id}`))[0]?.status;

  test('leaves by the link of a mail of before, by the page and by one click', async () => {
    for (const [who, body] of [
      [2, new URLSearchParams({ reason: 'other' })],
      [3, new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })],
    ] as const) {
      await sentTo(who, `Back${who}@Example.org`);
      expect(await (await fetch(here(links(who).unsubscribe()))).text()).toContain('not on this list');
      const id = await add(`back${who}@example.org`);
      const page = await (await fetch(here(links(who).unsubscribe()))).text();
      expect(page).toContain('<form method="post">');
      expect(page).toContain('b…@example.org');
      const answer = await post(who, body);
      expect([answer.status, await statusOf(id)]).toEqual([200, 'unsubscribed']);
      expect(await answer.text()).toContain('You are unsubscribed');
      const before = await unsubscribes();
      await post(who, body);
      // A second click on the page is kept in the history, because it ends the undo; a second one-click request is not.
      expect(await unsubscribes()).toEqual({ ...before, consents: before.consents + (who === 2 ? 1 : 0) });
    }
  });

  test('is not found by the mail of an erased person, nor by an address on another list', async () => {
    await sentTo(1, 'other-list@example.org');
    const [list] = await queryRows<{ id: bigint }>(
      ctx.db,
      sql`
      INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
      VALUES (${seeded.customerId}, 'fedcba9876543', 'Others', 'News', 'news@sender.example', 'Sender') RETURNING id`,
    );
    const id = await add('other-list@example.org');
    await ctx.db.execute(sql`UPDATE subscriber SET list_id = ${list?.id} WHERE id = ${id}`);
    expect(await (await post(1, 'List-Unsubscribe=One-Click')).text()).toContain('not on this list');
    expect(await statusOf(id)).toBe('subscribed');
    await ctx.db.execute(
      sql`UPDATE hot.delivery SET recipient_id = 0, email = '' WHERE email = 'other-list@example.org'`,
    );
    await ctx.db.execute(sql`UPDATE subscriber SET list_id = ${seeded.listId} WHERE id = ${id}`);
    expect(await (await post(1, 'List-Unsubscribe=One-Click')).text()).toContain('not on this list');
    expect(await statusOf(id)).toBe('subscribed');
  });
});
