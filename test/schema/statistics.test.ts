import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type Client } from 'graphql-ws';
import { afterAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { sql } from '../../src/db/database.ts';
import { announceCampaignChange } from '../../src/domain/statistics/announce-campaign-change.ts';
import { seedCampaign, type SeededCampaign } from '../support/audience-rows.ts';
import { heldBytes } from '../support/held-bytes.ts';
import { startGraphqlApp } from '../support/graphql-app.ts';

const app = await startGraphqlApp();
const { ctx } = app;
const clients: Client[] = [];
const sockets: WebSocket[] = [];
afterAll(() => {
  for (const client of clients) void client.dispose();
  for (const socket of sockets) socket.terminate();
});

const WATCH = `subscription ($uid: String!) {
  campaignStatistics(uid: $uid) { sentCount subscriberCount uniqOpenRate links { url clickCount } topOpenSubscribers { email } }
}`;

/** A campaign of a tenant that has a token. */
async function ownedCampaign(): Promise<SeededCampaign & { token: string }> {
  const owner = await app.newCustomer();
  return { ...(await seedCampaign(ctx.db, { subscribers: 2, customerId: owner.customerId })), token: owner.token };
}

async function setSent({ customerId, campaignId }: SeededCampaign, sent: number): Promise<void> {
  await ctx.db.execute(sql`
    INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, sent) VALUES (${customerId}, 1, ${campaignId}, ${sent}, ${sent})
    ON CONFLICT (customer_id, source_kind, source_id) DO UPDATE SET audience = excluded.audience, sent = excluded.sent`);
  announceCampaignChange(ctx, { customerId, campaignId });
}

interface Answer {
  readonly data?: { readonly campaignStatistics?: { readonly sentCount: number } | null } | null;
  readonly errors?: readonly { readonly extensions?: Record<string, unknown> }[] | undefined;
}

function watch(token: string, uid: string): AsyncIterableIterator<Answer> {
  const client = createClient({
    url: app.url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    connectionParams: { apiToken: token },
    retryAttempts: 0,
  });
  clients.push(client);
  return client.iterate<NonNullable<Answer['data']>>({
    query: WATCH,
    variables: { uid },
  }) as AsyncIterableIterator<Answer>;
}

/** The next event's figure; an event without one ends the test rather than a loop never. */
async function nextSent(events: AsyncIterableIterator<Answer>): Promise<number> {
  const { value } = await events.next();
  const sent = value?.data?.campaignStatistics?.sentCount;
  if (sent === undefined) throw new Error(`No figures: ${JSON.stringify(value)}`);
  return sent;
}

describe('campaignStatistics', () => {
  test('gives the figures now, then each change, with its lists read anew', async () => {
    const campaign = await ownedCampaign();
    const events = watch(campaign.token, campaign.campaignUid);
    expect((await events.next()).value.data.campaignStatistics).toEqual({
      sentCount: 0,
      subscriberCount: 0,
      uniqOpenRate: 0,
      links: [],
      topOpenSubscribers: [],
    });
    await ctx.db
      .execute(sql`INSERT INTO hot.link_counter (customer_id, source_kind, source_id, link_no, url, click_count)
                             VALUES (${campaign.customerId}, 1, ${campaign.campaignId}, 0, 'https://example.org/', 3)`);
    await setSent(campaign, 9);
    // The figures of before come once more when this process has just begun to listen.
    const figures = async () => (await events.next()).value.data.campaignStatistics;
    await expect.poll(figures).toMatchObject({ sentCount: 9, links: [{ url: 'https://example.org/', clickCount: 3 }] });
    await events.return?.();
  });

  test('a thousand changes arrive as few events, the last one among them', async () => {
    const campaign = await ownedCampaign();
    const events = watch(campaign.token, campaign.campaignUid);
    await events.next();
    const seen: number[] = [];
    const reading = (async () => {
      while (seen.at(-1) !== 150) seen.push(await nextSent(events));
    })();
    const startedAt = performance.now();
    for (let sent = 1; sent <= 150; sent++) await setSent(campaign, sent).then(() => sleep(5));
    await reading;
    const seconds = (performance.now() - startedAt) / 1_000;
    expect(seen.length).toBeLessThanOrEqual(Math.ceil(seconds * 4) + 1);
    await events.return?.();
  });

  test("is not for strangers, nor for another tenant's campaign, nor for a token that may not read campaigns", async () => {
    const campaign = await ownedCampaign();
    const other = await app.newCustomer();
    const narrow = await app.newCustomer(['lists:read']);
    const codes: unknown[] = [];
    for (const [token, uid] of [
      [other.token, campaign.campaignUid],
      [other.token, 'no-such-uid'],
      [narrow.token, campaign.campaignUid],
    ] as const) {
      const { value } = await watch(token, uid).next();
      codes.push(value?.errors?.[0]?.extensions?.['code']);
    }
    expect(codes).toEqual(['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_NOT_FOUND', 'FORBIDDEN']);
  });

  test('a reader that stops reading costs nothing and disturbs nobody (D7)', async () => {
    const campaign = await ownedCampaign();
    const paused = new WebSocket(app.url.replace('http', 'ws'), 'graphql-transport-ws');
    sockets.push(paused);
    paused.on('error', () => undefined);
    await new Promise((resolve) => paused.once('open', resolve));
    paused.send(JSON.stringify({ type: 'connection_init', payload: { apiToken: campaign.token } }));
    await new Promise((resolve) => paused.once('message', resolve));
    paused.send(
      JSON.stringify({
        id: '1',
        type: 'subscribe',
        payload: { query: WATCH, variables: { uid: campaign.campaignUid } },
      }),
    );
    await new Promise((resolve) => paused.once('message', resolve));
    paused.pause();

    const lively = watch(campaign.token, campaign.campaignUid);
    await lively.next();
    await setSent(campaign, 1);
    const before = heldBytes();
    for (let change = 0; change < 1_000_000; change++) announceCampaignChange(ctx, campaign);
    await setSent(campaign, 2);
    let last = 0;
    while (last !== 2) last = await nextSent(lively);
    expect(heldBytes() - before).toBeLessThan(32 * 1024 * 1024);
    await lively.return?.();
  });
});
