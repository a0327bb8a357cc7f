/** People who read mails while others are still sent: so many open one each second by a real request for its pixel, and some click a link. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { limitsOf } from '../../src/app/installation.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { linkSignerOf } from '../../src/domain/tracking/link-signer.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { BENCH_SECRET } from './product.ts';

export interface Reading {
  readonly client: pg.Client;
  /** Of the product. */
  readonly url: string;
  readonly opensPerSecond: number;
  /** A campaign that was sent: they read it until there is a newer one. */
  readonly campaignUid: string;
}

interface Mail {
  readonly person: string;
  readonly open: string;
  readonly click: string;
}

/** One of so many who open also clicks. */
const CLICK_EVERY = 5;
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

/** Each reads the newest mail that has arrived and that nobody of them has read. */
export class MailReaders {
  readonly #reading: Reading;
  /** The newest first. */
  readonly #campaigns: string[];
  /** By campaign: the last person who has read it. */
  readonly #lastReaders = new Map<string, string>();
  readonly people = new Set<string>();
  opened = 0;
  clicked = 0;
  #isStopping = false;
  #work: Promise<void> = Promise.resolve();

  constructor(reading: Reading) {
    this.#reading = reading;
    this.#campaigns = [reading.campaignUid];
  }

  start(): void {
    this.#work = this.#read();
    // A fault is thrown by `stop`.
    this.#work.catch(() => undefined);
  }

  /** From now on they read this one, as its mails arrive. */
  readNewer(campaignUid: string): void {
    this.#campaigns.unshift(campaignUid);
  }

  /** Ends when all their requests are answered and recorded. Throws when one was refused. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#work;
    while (await this.#isUnrecorded()) await sleep(100);
  }

  async #read(): Promise<void> {
    while (!this.#isStopping) {
      const secondAt = performance.now();
      const until = (share: number) => sleep(Math.max(0, secondAt + share * 1_000 - performance.now()));
      const requests: Promise<void>[] = [];
      const mails = await this.#nextMails();
      for (const [no, mail] of mails.entries()) {
        if (this.#isStopping) break;
        await until(no / this.#reading.opensPerSecond);
        requests.push(this.#open(mail));
      }
      await Promise.all(requests);
      if (!this.#isStopping) await until(1);
    }
  }

  async #open({ person, open, click }: Mail): Promise<void> {
    await get(open);
    this.people.add(person);
    this.opened += 1;
    if (this.opened % CLICK_EVERY !== 0) return;
    await get(click);
    this.clicked += 1;
  }

  /** Those of one second. When everybody has read everything, they begin again. */
  async #nextMails(): Promise<Mail[]> {
    for (const campaign of this.#campaigns) {
      const mails = await this.#mailsOf(campaign, this.#lastReaders.get(campaign) ?? '0');
      const last = mails.at(-1);
      if (last) {
        this.#lastReaders.set(campaign, last.person);
        return mails;
      }
    }
    this.#lastReaders.clear();
    return [];
  }

  async #mailsOf(campaignUid: string, after: string): Promise<Mail[]> {
    const { client, url, opensPerSecond } = this.#reading;
    const { rows } = await client.query<{ customer: string; list: string; campaign: string; person: string }>(
      `SELECT d.customer_id AS customer, d.list_id AS list, d.source_id AS campaign, d.recipient_id AS person
         FROM campaign c JOIN hot.delivery d ON d.snapshot_on = c.snapshot_on AND d.customer_id = c.customer_id AND d.source_kind = 1 AND d.source_id = c.id
        WHERE c.uid = $1 AND d.state = 'sent' AND d.recipient_id > $2 ORDER BY d.recipient_id LIMIT $3`,
      [campaignUid, after, opensPerSecond],
    );
    const signer = linkSignerOf({ baseUrl: url, secret: BENCH_SECRET, limits: limitsOf(loadConfig({})) });
    return rows.map(({ customer, list, campaign, person }) => {
      const [customerId, listId] = [BigInt(customer), BigInt(list)];
      const [campaignId, subscriberId] = [BigInt(campaign), BigInt(person)];
      const links = signer.forRecipient(recipientOfCampaign({ customerId, listId, campaignId, subscriberId }));
      return { person, open: links.open(), click: links.click(0, 'https://shop.example/offer/1') };
    });
  }

  async #isUnrecorded(): Promise<boolean> {
    const { rows } = await this.#reading.client.query('SELECT 1 FROM hot.tracking_event LIMIT 1');
    return rows.length > 0;
  }
}

async function get(address: string): Promise<void> {
  const answer = await fetch(address, { redirect: 'manual', headers: { 'user-agent': BROWSER } });
  await answer.arrayBuffer();
  if (answer.status >= 400) throw new Error(`GET ${address} answered ${answer.status}.`);
}
