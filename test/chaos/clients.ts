/**
 * Clients of the product while it is being hurt: one adds subscribers over REST, one clicks links. They note what was
 * acknowledged, and what no client should ever see.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { BENCH_TOKEN, type Product } from '../../bench/support/product.ts';
import { linkSignerOf } from '../../src/domain/tracking/link-signer.ts';
import type { History } from './history.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import type { World } from './world.ts';

export interface Clients {
  /** Stops them, and writes how much of what was acknowledged is there. */
  stop(): Promise<void>;
}

/** What a server that is being hurt may answer: not now (503, 507), or that it is busy (429). */
const EXCUSES: ReadonlySet<number> = new Set([429, 503, 507]);
const PAUSE_MS = 30;
/** Clicks wait in the inbox of raw tracking events for a moment before they are counted. */
const COUNTING_TRIES_MAX = 300;

/** Starts both; `web` answers the process that serves now, or undefined while there is none. */
export function startClients(world: World, history: History, web: () => Product | undefined): Clients {
  const state = { isOver: false };
  const until = async (work: (product: Product) => Promise<void>): Promise<void> => {
    while (!state.isOver) {
      const product = web();
      // A connection that was cut says nothing: the write may or may not have happened.
      if (product) await work(product).catch(() => undefined);
      await sleep(PAUSE_MS);
    }
  };
  const adding = until((product) => addSubscriber(product, world, history));
  const clicking = startClicking(world, history).then((click) => until(click));
  return {
    async stop() {
      state.isOver = true;
      await Promise.all([adding, clicking]);
      await writeFound(world, history);
    },
  };
}

async function addSubscriber(product: Product, world: World, history: History): Promise<void> {
  const email = `new-${crypto.randomUUID()}@example.net`;
  const answer = await fetch(`${product.url}/api/v1/subscribers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${BENCH_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ list_uid: world.listUid, EMAIL: email }),
  });
  const text = await answer.text();
  if (answer.ok) history.write({ kind: 'acknowledged', what: 'subscriber', id: email });
  else if (!EXCUSES.has(answer.status))
    history.write({ kind: 'wrong-answer', what: `${answer.status} ${text.slice(0, 200)}` });
}

/** Clicks the link of one recipient after the other; the address is made as the message's is. */
async function startClicking(world: World, history: History): Promise<(product: Product) => Promise<void>> {
  const [ids] = await world.query<{ customer: string; list: string; campaign: string; first: string }>(
    `SELECT c.customer_id AS customer, c.list_id AS list, c.id AS campaign, (SELECT min(id) FROM subscriber) AS first FROM campaign c`,
  );
  const recipient = {
    customerId: BigInt(ids?.customer ?? 0),
    listId: BigInt(ids?.list ?? 0),
    campaignId: BigInt(ids?.campaign ?? 0),
  };
  let next = BigInt(ids?.first ?? 0);
  return async (product) => {
    const installation = { baseUrl: product.url, secret: 'bench'.repeat(10) };
    const links = linkSignerOf(installation as Parameters<typeof linkSignerOf>[0]).forRecipient(
      recipientOfCampaign({ ...recipient, subscriberId: next++ }),
    );
    const answer = await fetch(links.click(0, 'https://shop.example/offer'), { redirect: 'manual' });
    await answer.text();
    // A reader is sent on whether or not we could write it down, and then the answer says so.
    if (answer.status === 302 && answer.headers.get('mailwright-recorded') === 'no') return;
    if (answer.status === 302) history.write({ kind: 'acknowledged', what: 'click', id: String(next) });
    else if (!EXCUSES.has(answer.status)) history.write({ kind: 'wrong-answer', what: `click: ${answer.status}` });
  };
}

async function writeFound(world: World, history: History): Promise<void> {
  const acknowledged = (what: string): number =>
    history.events.filter((event) => event.kind === 'acknowledged' && event.what === what).length;
  const emails = history.events.flatMap((event) =>
    event.kind === 'acknowledged' && event.what === 'subscriber' ? [event.id] : [],
  );
  const [subscribers] = await world.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM subscriber WHERE email_key = ANY($1)',
    [emails],
  );
  history.write({ kind: 'found', what: 'subscriber', count: subscribers?.count ?? 0 });
  let clicks = 0;
  for (let tries = 0; tries < COUNTING_TRIES_MAX && clicks < acknowledged('click'); tries++) {
    const [row] = await world.query<{ count: number }>(
      'SELECT coalesce(sum(click_count), 0)::int AS count FROM hot.tracking_counter',
    );
    clicks = row?.count ?? 0;
    await sleep(PAUSE_MS);
  }
  history.write({ kind: 'found', what: 'click', count: clicks });
}
