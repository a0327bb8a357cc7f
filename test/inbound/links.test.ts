import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { untilCounted } from '../support/record-tracking-events.ts';
import { frameAddress } from '../support/web-view.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { startInboundServer, WEB_VIEW } from './inbound-server.ts';

const { ctx, origin, seeded, signer, links, here, status } = await startInboundServer();
const BROWSER = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0' };
const { customerId, listId, campaignId, subscriberIds } = seeded;
const recipient = (who: number) =>
  recipientOfCampaign({ customerId, listId, campaignId, subscriberId: subscriberIds[who] ?? 0n });

async function counters() {
  await untilCounted(ctx);
  const [row] = await queryRows<{ open_count: number; click_count: number }>(
    ctx.db,
    sql`SELECT open_count, click_count FROM hot.tracking_counter WHERE source_id = ${campaignId}`,
  );
  return row ?? { open_count: 0, click_count: 0 };
}

describe('the pixel', () => {
  test('is an image that nobody caches, and an open when it arrives', async () => {
    const response = await fetch(here(links(0).open()), { headers: BROWSER });
    expect([response.status, response.headers.get('content-type'), response.headers.get('cache-control')]).toEqual([
      200,
      'image/gif',
      'no-store',
    ]);
    expect(
      Buffer.from(await response.arrayBuffer())
        .subarray(0, 6)
        .toString(),
    ).toBe('GIF89a');
    expect(await counters()).toMatchObject({ open_count: 1 });
    await untilCounted(ctx);
    const [event] = await queryRows(ctx.db, sql`SELECT ip, is_machine, user_agent FROM hot.open_event`);
    expect(event).toEqual({ ip: '127.0.0.1', is_machine: false, user_agent: BROWSER['User-Agent'] });
  });

  test('is answered alike for an address that we never made, and nothing is counted', async () => {
    const known = here(links(0).open());
    const answerOf = async (url: string, init: RequestInit = {}) => {
      const answer = await fetch(url, init);
      const headers = [...answer.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id');
      return [
        answer.status,
        headers,
        [...answer.headers.keys()],
        Buffer.from(await answer.arrayBuffer()).toString('hex'),
      ];
    };
    const before = await counters();
    const written = async () =>
      (await queryRows<{ at: string }>(ctx.db, sql`SELECT pg_current_wal_insert_lsn()::text AS at`))[0]?.at;
    const last = known.at(-5) === 'A' ? 'B' : 'A';
    const unknown = [
      known.replace(/.\.gif$/, `${last}.gif`),
      known.replace('.gif', '.png'),
      `${origin}/o/none.gif`,
      `${origin}/o/x/y`,
    ];
    for (const init of [
      {},
      { method: 'HEAD' },
      { headers: BROWSER },
      { method: 'POST' },
      { headers: { Connection: 'close' } },
    ]) {
      const right = await answerOf(here(links(1).open()), init);
      for (const url of unknown) {
        const start = await written();
        expect(await answerOf(url, init), url).toEqual(right);
        if (!('method' in init)) expect(await written()).not.toBe(start);
      }
    }
    expect(await counters()).toMatchObject({ open_count: before.open_count + 3 });
  });

  test('is not shown by HEAD', async () => {
    expect((await fetch(here(links(0).open()), { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(here(links(0).open()), { method: 'POST' })).status).toBe(405);
    expect(await counters()).toMatchObject({ open_count: 4 });
  });
});

describe('a tracked link', () => {
  test('leads where the author said and is a click when it does', async () => {
    const response = await fetch(here(links(1).click(2, 'https://example.org/a?b=c&d=ä#e')), {
      redirect: 'manual',
      headers: BROWSER,
    });
    expect([response.status, response.headers.get('location')]).toEqual([302, 'https://example.org/a?b=c&d=%C3%A4#e']);
    expect(await counters()).toMatchObject({ click_count: 1 });
  });

  test('is followed but not counted ahead of the reader', async () => {
    const address = here(links(1).click(2, 'https://example.org/'));
    for (const init of [
      { method: 'HEAD' },
      { headers: { ...BROWSER, 'Sec-Purpose': 'prefetch' } },
      { headers: { ...BROWSER, Purpose: 'prefetch' } },
    ]) {
      expect((await fetch(address, { redirect: 'manual', ...init })).status).toBe(302);
    }
    expect(await counters()).toMatchObject({ click_count: 1 });
    const [kept] = await queryRows(ctx.db, sql`SELECT count(*)::int AS n FROM hot.click_event WHERE is_machine`);
    expect(kept).toEqual({ n: 3 });
  });

  test('ignores what mail programs append', async () => {
    const response = await fetch(`${here(links(1).click(2, 'https://example.org/'))}?fbclid=1&u=https://evil.example`, {
      redirect: 'manual',
    });
    expect(response.headers.get('location')).toBe('https://example.org/');
  });

  test('is found in front of what was taken along from the text around it', async () => {
    const addresses = {
      [here(links(1).click(2, 'https://example.org/'))]: 302,
      [here(links(1).unsubscribe())]: 200,
      [here(links(1).open())]: 200,
    };
    for (const [address, expected] of Object.entries(addresses))
      for (const tail of ['.', ')', ']', '>', ',', '%3E', '…', "'", '/', '=', '=3D', '&utm_source=x', ';a=b', ').'])
        expect([tail, (await fetch(address + tail, { redirect: 'manual' })).status]).toEqual([tail, expected]);
    const [address = ''] = Object.keys(addresses);
    const encoded = address.replaceAll('_', '%5F').replaceAll('-', '%2D').replaceAll('.', '%2e');
    const answer = await fetch(encoded.replace(/^[^/]+\/\/[^/]+/, origin), { redirect: 'manual' });
    expect(answer.headers.get('location')).toBe('https://example.org/');
  });

  test('is no open redirect', async () => {
    const good = here(links(1).click(2, 'https://example.org/'));
    const token = good.slice(good.lastIndexOf('/') + 1);
    const evil = Buffer.from('https://evil.example/').toString('base64url');
    for (const path of [
      '',
      'x',
      evil,
      `${token}${evil}`,
      `${token}/../x`,
      `${token}?u=x`.replace(token, ''),
      encodeURIComponent('https://evil.example'),
    ]) {
      const response = await fetch(`${origin}/c/${path}`, { redirect: 'manual' });
      expect([response.status, response.headers.get('location')]).toEqual([404, null]);
    }
  });

  test('is followed when it cannot be written down, and the answer says so', async () => {
    const click = () =>
      fetch(here(links(2).click(3, 'https://example.org/late')), { redirect: 'manual', headers: BROWSER });
    const before = await counters();
    expect((await click()).headers.get('mailwright-recorded')).toBeNull();
    await ctx.database.transaction(async (holder) => {
      await queryRows(holder, sql`LOCK TABLE hot.tracking_event IN ACCESS EXCLUSIVE MODE`);
      const [late, open] = await Promise.all([click(), fetch(here(links(2).open()), { headers: BROWSER })]);
      expect([late.status, late.headers.get('mailwright-recorded')]).toEqual([302, 'no']);
      expect([open.status, open.headers.get('mailwright-recorded')]).toEqual([200, 'no']);
    });
    await expect.poll(counters).toMatchObject({ click_count: before.click_count + 2 });
  });

  test('works for a campaign that is deleted', async () => {
    const gone = signer.forRecipient({ ...recipient(1), sourceId: 424_242n }).click(0, 'https://example.org/still');
    expect((await fetch(here(gone), { redirect: 'manual' })).headers.get('location')).toBe('https://example.org/still');
  });
});

describe('the web view', () => {
  /** The address of the frame in a page that a browser has from `url`. */
  test('is a page of ours around the message, which comes in a cage', async () => {
    const url = `${here(links(0).webView())}?utm_source=x`;
    const page = await fetch(url, { headers: { 'Sec-Fetch-Dest': 'document' } });
    const text = await page.text();
    expect(text).toContain('<title>News &amp; more</title>');
    expect(text).not.toContain('script');
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*frame-src 'self'; /);
    const frame = frameAddress(text, url);
    const response = await fetch(frame);
    expect(await response.text()).toBe(WEB_VIEW);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^sandbox /);
    expect(policy).not.toMatch(/allow-scripts|allow-same-origin|allow-forms/);
    expect(policy).toContain("default-src 'none'");
    for (const one of [page, response]) {
      expect(one.headers.get('content-security-policy')).toMatch(/; frame-ancestors 'self'$/);
      expect(one.headers.get('x-frame-options')).toBe('SAMEORIGIN');
    }
    expect((await fetch(frame.slice(0, -3))).status).toBe(404);
  });

  test('finds its frame below the path of BASE_URL, under the host of a sender, and behind a slash', async () => {
    const view = here(links(0).webView());
    const token = view.slice(`${origin}/view/`.length);
    for (const end of ['', '/', '/x/', '?a=/'])
      for (const base of [origin, 'http://mail.example/mail', 'https://news.example']) {
        const text = await (await fetch(`${view}${end}`)).text();
        expect(frameAddress(text, `${base}/view/${token}${end}`)).toBe(`${base}/view/nested/${token}`);
      }
  });

  test.each(['iframe', undefined])(
    'in a frame (%s) opens new windows and cannot replace the page around it',
    async (to) => {
      const url = here(links(0).webView());
      const page = await (await fetch(url, { headers: to === undefined ? {} : { 'Sec-Fetch-Dest': to } })).text();
      expect(page).toContain('<iframe sandbox="allow-popups allow-popups-to-escape-sandbox" ');
      const inner = await fetch(frameAddress(page, url));
      expect(inner.headers.get('content-security-policy')).toMatch(
        /^sandbox allow-popups allow-popups-to-escape-sandbox;/,
      );
      expect(await inner.text()).not.toContain('_top');
    },
  );

  test('of a deleted campaign says so', async () => {
    const gone = signer.forRecipient({ ...recipient(0), sourceId: 424_242n }).webView();
    expect((await fetch(here(gone))).status).toBe(200);
  });
});

describe('confirming', () => {
  const expiresAt = new Date(Math.floor(Date.now() / 1_000) * 1_000 + 14 * 86_400_000);

  test('needs a POST; GET and HEAD change nothing; it works once', async () => {
    await ctx.db.execute(
      sql`UPDATE subscriber SET status = 'pending', pending_until = ${expiresAt} WHERE id = ${subscriberIds[2]}`,
    );
    const address = here(signer.confirmation(recipient(2), expiresAt));
    for (const method of ['GET', 'HEAD', 'OPTIONS']) await fetch(address, { method });
    expect(await status(2)).toBe('pending');
    expect(await (await fetch(address)).text()).toContain('Yes, subscribe me');
    expect(await (await fetch(address, { method: 'POST' })).text()).toContain('You are subscribed');
    expect(await status(2)).toBe('subscribed');
    await ctx.db.execute(sql`UPDATE subscriber SET status = 'unsubscribed' WHERE id = ${subscriberIds[2]}`);
    expect((await fetch(address, { method: 'POST' })).status).toBe(410);
    expect(await status(2)).toBe('unsubscribed');
  });

  test('too late is too late', async () => {
    await ctx.db.execute(sql`UPDATE subscriber SET status = 'pending' WHERE id = ${subscriberIds[3]}`);
    const address = here(signer.confirmation(recipient(3), new Date(Date.now() - 60_000)));
    expect((await fetch(address)).status).toBe(410);
    expect((await fetch(address, { method: 'POST' })).status).toBe(410);
    expect(await status(3)).toBe('pending');
  });
});

describe('the profile page', () => {
  async function fieldsOf(who: number) {
    const [row] = await queryRows<{ fields: Record<string, string> }>(
      ctx.db,
      sql`SELECT fields FROM subscriber WHERE id = ${subscriberIds[who]}`,
    );
    return row?.fields;
  }
  const address = here(links(4).updateProfile());
  const save = (values: Record<string, string>) =>
    fetch(address, { method: 'POST', body: new URLSearchParams(values) });

  test('shows visible fields escaped and stores what is changed', async () => {
    for (const [tag, type, visible] of [
      ['FIRST_NAME', 'text', true],
      ['AGE', 'number', true],
      ['SECRET', 'text', false],
    ] as const) {
      await ctx.db.execute(sql`INSERT INTO list_field (customer_id, uid, list_id, type, label, tag, visible)
                               VALUES (${customerId}, ${tag.slice(0, 13)}, ${listId}, ${type}, ${`Your "${tag}"`}, ${tag}, ${visible})`);
    }
    const hostile = { FIRST_NAME: '"><script>alert(1)</script>', SECRET: 'score 7' };
    await ctx.db.execute(
      sql`UPDATE subscriber SET fields = ${JSON.stringify(hostile)}::jsonb WHERE id = ${subscriberIds[4]}`,
    );
    const page = await (await fetch(address)).text();
    expect(page).toContain('value="&quot;&gt;&lt;script&gt;');
    expect(page).not.toContain('score 7');
    expect(
      (await save({ FIRST_NAME: 'Žofie', AGE: '41', SECRET: 'x', EMAIL: 'other@example.org', status: 'x' })).status,
    ).toBe(200);
    expect(await fieldsOf(4)).toEqual({ FIRST_NAME: 'Žofie', AGE: '41', SECRET: 'score 7' });
  });

  test('says which value is wrong and keeps what was typed', async () => {
    const response = await save({ FIRST_NAME: 'Ann', AGE: 'old' });
    const page = await response.text();
    expect(response.status).toBe(422);
    expect(page).toContain('aria-invalid="true"');
    expect(page).toContain('value="old"');
    expect(await fieldsOf(4)).toMatchObject({ FIRST_NAME: 'Žofie', AGE: '41' });
  });
});

test('a link whose host a field should have filled leads to a page that says whose mistake it is', async () => {
  for (const address of ['https:///offer', 'https://not a host/', 'http://%/x']) {
    const response = await fetch(here(links(0).click(3, address)), { redirect: 'manual' });
    expect([address, response.status, await response.text()]).toEqual([
      address,
      404,
      expect.stringContaining('This link leads nowhere'),
    ]);
  }
});
