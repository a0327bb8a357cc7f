/**
 * Some of the people read their mail in the built-in inbox: images load, links are followed, a few unsubscribe with the button of
 * their mail program. Who does what depends on the address alone, so it is the same every time.
 */
import { z } from 'zod';
import type { Client } from './client.ts';
import { count } from './format.ts';
import { progressBar } from './progress-bar.ts';
import { seededRandom, seedOf, type Random } from './random.ts';

const OPEN_SHARE = 0.42;
const OPEN_AGAIN_SHARE = 0.25;
const CLICK_SHARE = 0.35;
const CLICK_AGAIN_SHARE = 0.3;
/** Their mail program shows no images: only a click shows that they read it. */
const IMAGELESS_SHARE = 0.15;
const UNSUBSCRIBE_SHARE = 0.05;
/** How many read at the same time: not too much for a laptop. */
const READERS = 8;
/** The most that one answer of the inbox holds. */
const PAGE_SIZE = 200;

const USER_AGENT = 'Mozilla/5.0 (X11; Linux x64; rv:140.0) Gecko/20100101 Firefox/140.0';

const page = z.object({
  messages: z.array(z.object({ id: z.number(), to: z.array(z.string()) })),
  next_before: z.number().nullable(),
});
const mail = z.object({
  headers: z.array(z.object({ name: z.string(), value: z.string() })),
  html: z.string().nullable(),
  links: z.array(z.string()),
});
type Mail = z.output<typeof mail>;

export interface Played {
  /** The mail to open. */
  readonly messageId: number | undefined;
  readonly readers: number;
}

/** Lets people read the newest `mails` mails of the inbox that belong to the campaign. */
export async function playRecipients(client: Client, campaignUid: string, mails: number): Promise<Played> {
  const entries = await newestMails(client, mails);
  const readers = entries.filter(({ to }) => readsMail(to[0] ?? ''));
  const bar = progressBar('Readers');
  let next = 0;
  let done = 0;
  const read = async (): Promise<void> => {
    for (let entry = readers[next++]; entry; entry = readers[next++]) {
      const message = await client.read(`/inbox/messages/${entry.id}`, mail);
      if (isOf(message, campaignUid)) await behave(client, message, randomOf(entry.to[0] ?? ''));
      bar.show(++done / readers.length, `${count(done)} of ${count(readers.length)} people who read their mail`);
    }
  };
  await Promise.all(Array.from({ length: READERS }, read));
  bar.end();
  return { messageId: entries[0]?.id, readers: readers.length };
}

async function newestMails(client: Client, wanted: number) {
  const entries: z.output<typeof page>['messages'] = [];
  let before = '';
  while (entries.length < wanted) {
    const { messages, next_before } = await client.read(`/inbox/messages?limit=${PAGE_SIZE}${before}`, page);
    entries.push(...messages);
    if (next_before === null) break;
    before = `&before=${next_before}`;
  }
  return entries.slice(0, wanted);
}

/** The first random number of an address decides whether its owner reads at all. */
function readsMail(address: string): boolean {
  return seededRandom(seedOf(address)).chance(OPEN_SHARE);
}

function randomOf(address: string): Random {
  return seededRandom(seedOf(`${address} reads`));
}

/** The inbox may contain other mails, too. */
function isOf({ headers }: Mail, campaignUid: string): boolean {
  return headers.some(({ name, value }) => name.toLowerCase() === 'feedback-id' && value.startsWith(`${campaignUid}:`));
}

async function behave(client: Client, message: Mail, random: Random): Promise<void> {
  const seesImages = !random.chance(IMAGELESS_SHARE);
  const pixel = /<img[^>]+src="([^"]+\/o\/[^"]+)"/.exec(message.html ?? '')?.[1];
  const tracked = message.links.filter((link) => pathOf(link).startsWith('/c/'));
  if (seesImages && pixel !== undefined) {
    await request(client, pixel);
    if (random.chance(OPEN_AGAIN_SHARE)) await request(client, pixel);
  }
  if (tracked.length > 0 && (random.chance(CLICK_SHARE) || !seesImages)) {
    await request(client, random.pick(tracked));
    if (random.chance(CLICK_AGAIN_SHARE)) await request(client, random.pick(tracked));
  }
  if (random.chance(UNSUBSCRIBE_SHARE)) await unsubscribe(client, message);
}

/** Does not follow the redirect: its target does not exist. */
async function request(client: Client, address: string): Promise<void> {
  const headers = { 'User-Agent': USER_AGENT };
  const response = await fetch(client.url + pathOf(address), { redirect: 'manual', headers });
  await response.arrayBuffer();
}

/** What a mail program sends when its unsubscribe button is pressed (RFC 8058). */
async function unsubscribe(client: Client, { headers }: Mail): Promise<void> {
  const header = headers.find(({ name }) => name.toLowerCase() === 'list-unsubscribe')?.value ?? '';
  const address = /<([^>]+)>/.exec(header)?.[1];
  if (address === undefined) return;
  const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
  const response = await fetch(client.url + pathOf(address), { method: 'POST', body });
  await response.arrayBuffer();
}

/** Links lead to BASE_URL, which need not be reachable from here; the product itself is. */
function pathOf(address: string): string {
  return URL.parse(address)?.pathname ?? '/';
}
