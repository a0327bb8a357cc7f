/** What the acts of a day need of a lived-in database: lists, campaigns, people, and the readers of an old campaign. */
import type pg from 'pg';
import { subscriberUid } from '../../src/lib/ids.ts';
import type { Context } from '../../src/domain/context.ts';
import { deliveryMessageId } from '../../src/domain/tracking/delivery-message-id.ts';
import { linkSignerOf } from '../../src/domain/tracking/link-signer.ts';
import { returnPathOf } from '../../src/domain/tracking/return-path.ts';
import { LARGE_LIST, SECOND_LIST } from './lived-in-sizes.ts';
import { livedInLists, type LivedInLists } from './lived-in.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { BENCH_SECRET, BENCH_TOKEN, type Product } from './product.ts';

export interface Person {
  readonly id: bigint;
  readonly uid: string;
  readonly email: string;
}

/** Addresses that stand in a message, and what reports of it quote. */
export interface Reader {
  readonly open: string;
  readonly click: string;
  readonly view: string;
  readonly profile: string;
  readonly unsubscribe: string;
  readonly messageId: string;
  readonly returnPath: string;
}

export interface DayWorld {
  readonly product: Product;
  readonly url: string;
  /** Its statements are not counted. */
  readonly client: pg.Client;
  readonly lists: LivedInLists;
  /** Subscribed to the large list; each act takes the next one. */
  nextPerson(): Person;
  nextReader(): Reader;
  /** Links that confirm, of people of the large list who are pending. */
  readonly confirmations: readonly string[];
  /** Of other customers. */
  readonly customers: readonly string[];
  /** How often the acts of an hour are done. */
  readonly rounds: number;
}

export const BOUNCE_DOMAIN = 'bounces.bench.example';
const PEOPLE = 1_000;
const READERS = 2_000;
const CONFIRMATIONS = 50;
const CUSTOMERS = 20;

export async function openDayWorld(given: Pick<DayWorld, 'product' | 'url' | 'client' | 'rounds'>): Promise<DayWorld> {
  const { client, url } = given;
  const { rows: people } = await client.query<{ id: string; email: string }>(
    `SELECT s.id, s.email FROM subscriber s JOIN mail_list l ON l.customer_id = s.customer_id AND l.id = s.list_id
      WHERE l.name = $1 AND s.status = 'subscribed' ORDER BY hashint8(s.id) LIMIT ${PEOPLE}`,
    [LARGE_LIST],
  );
  const { rows: customers } = await client.query<{ uid: string }>(
    `SELECT uid FROM customer WHERE NOT is_operator ORDER BY id LIMIT ${CUSTOMERS}`,
  );
  const readers = await readersOf(given);
  let [personAt, readerAt] = [0, 0];
  return {
    ...given,
    lists: await livedInLists(url),
    nextPerson() {
      const person = people[personAt++ % people.length];
      if (!person) throw new Error(`Nobody is on the list "${LARGE_LIST}".`);
      return { id: BigInt(person.id), uid: subscriberUid(BigInt(person.id)), email: person.email };
    },
    nextReader() {
      const reader = readers[readerAt++ % readers.length];
      if (!reader) throw new Error(`The list "${SECOND_LIST}" has no campaign that was sent.`);
      return reader;
    },
    confirmations: await confirmationsOf(given),
    customers: customers.map(({ uid }) => uid),
  };
}

function installationAt(baseUrl: string): Context['installation'] {
  return {
    ...{ baseUrl, secret: BENCH_SECRET, bounceDomain: BOUNCE_DOMAIN },
    limits: {
      ...{ sendBatchSize: 1, snapshotBatchSize: 1, importBatchSize: 1, sendAttemptsMax: 1, sendRetryDelaySeconds: 1 },
      ...{ sendLeaseSeconds: 1, importBytesMax: 1, fileBytesMax: 1, billingGraceDays: 1 },
      bouncePause: { percent: 0, recipients: 1 },
      sessionDays: { idle: 1, inAll: 1 },
    },
  };
}

/** Readers of the newest campaign of the large list. */
async function readersOf({ client, product }: Pick<DayWorld, 'client' | 'product'>): Promise<Reader[]> {
  const installation = installationAt(product.url);
  const signer = linkSignerOf(installation);
  const { rows } = await client.query<{ customer: string; list: string; campaign: string; person: string }>(
    `SELECT d.customer_id AS customer, c.list_id AS list, c.id AS campaign, d.recipient_id AS person
       FROM (SELECT c.* FROM campaign c JOIN mail_list l ON l.customer_id = c.customer_id AND l.id = c.list_id
              WHERE l.name = $1 AND c.status = 'done' ORDER BY c.id DESC LIMIT 1) c
       JOIN hot.delivery d ON d.snapshot_on = c.snapshot_on AND d.customer_id = c.customer_id AND d.source_id = c.id
      WHERE d.state = 'sent' ORDER BY hashint8(d.recipient_id) LIMIT ${READERS}`,
    [LARGE_LIST],
  );
  return rows.map((row, no) => {
    const [customerId, listId] = [BigInt(row.customer), BigInt(row.list)];
    const [campaignId, subscriberId] = [BigInt(row.campaign), BigInt(row.person)];
    const recipient = recipientOfCampaign({ customerId, listId, campaignId, subscriberId });
    const links = signer.forRecipient(recipient);
    return {
      open: links.open(),
      click: links.click(no % 5, `https://shop.example/offer/${(no % 5) + 1}`),
      view: links.webView(),
      profile: links.updateProfile(),
      unsubscribe: links.unsubscribe(),
      messageId: deliveryMessageId(installation, recipient, 'shop.example'),
      returnPath: returnPathOf(installation, recipient, BOUNCE_DOMAIN),
    };
  });
}

async function confirmationsOf({ client, product }: Pick<DayWorld, 'client' | 'product'>): Promise<string[]> {
  const signer = linkSignerOf(installationAt(product.url));
  const { rows } = await client.query<{ customer: string; list: string; id: string; until: Date }>(
    `UPDATE subscriber s SET pending_until = date_trunc('second', s.pending_until)
       FROM (SELECT s.customer_id, s.list_id, s.id FROM subscriber s JOIN mail_list l ON l.customer_id = s.customer_id AND l.id = s.list_id
              WHERE l.name = $1 AND s.status = 'pending' ORDER BY hashint8(s.id) LIMIT ${CONFIRMATIONS}) p
      WHERE s.customer_id = p.customer_id AND s.list_id = p.list_id AND s.id = p.id
      RETURNING s.customer_id AS customer, s.list_id AS list, s.id, s.pending_until AS until`,
    [LARGE_LIST],
  );
  return rows.map(({ customer, list, id, until }) => {
    const whose = { customerId: BigInt(customer), listId: BigInt(list), campaignId: 0n, subscriberId: BigInt(id) };
    return signer.confirmation(recipientOfCampaign(whose), until);
  });
}

/** Throws when the answer is an error. */
export async function graphql({ product }: Pick<DayWorld, 'product'>, query: string): Promise<unknown> {
  const answer = await fetch(`${product.url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${BENCH_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  const text = await answer.text();
  if (!answer.ok || text.includes('"errors"')) throw new Error(`${query} answered ${answer.status}: ${text}`);
  return JSON.parse(text);
}

/** Reads it to its end, however long, and keeps nothing. */
export async function download({ product }: Pick<DayWorld, 'product'>, route: string): Promise<void> {
  const headers = { authorization: `Bearer ${BENCH_TOKEN}`, 'x-api-dialect': 'classic' };
  const answer = await fetch(`${product.url}/api/v1${route}`, { headers });
  if (!answer.ok || !answer.body) throw new Error(`GET ${route} answered ${answer.status}: ${await answer.text()}`);
  for await (const piece of answer.body) void piece;
}

/** A page as a browser asks for it. */
export async function page(address: string, form?: Readonly<Record<string, string>>): Promise<void> {
  const answer = await fetch(address, {
    redirect: 'manual',
    ...(form ? { method: 'POST', body: new URLSearchParams(form) } : {}),
  });
  const text = await answer.text();
  if (answer.status >= 400) throw new Error(`${form ? 'POST' : 'GET'} ${address} answered ${answer.status}: ${text}`);
}
