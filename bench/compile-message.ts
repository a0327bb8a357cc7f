/**
 * What one recipient costs: filling a compiled message of about 11 KB with 5 links and 5 merge tags, beside a
 * general-purpose composer that is given the finished parts; and the same message with a file of 200 KB. `--smoke` runs it briefly.
 */
import MailComposer from 'nodemailer/lib/mail-composer';
import { compileMessage } from '../src/domain/content/compile-message.ts';
import type { CompiledMessage, MessageRecipient, MessageSource } from '../src/domain/content/message.ts';

const isSmoke = process.argv.includes('--smoke');
const ROUNDS = isSmoke ? 3 : 9;
const FILLS = isSmoke ? 500 : 20_000;
/** Messages in flight to one server. */
const BATCH = 50;
const FILE_BYTES = 200_000;
const COMPOSES = isSmoke ? 50 : 1_000;

const words = 'Fresh bread, good coffee and the news of the week are waiting for you around the corner. ';
const html =
  `<html><body><h1>Hi {FIRST_NAME} {LAST_NAME}</h1><p>${words.repeat(95)}</p>` +
  [1, 2, 3, 4, 5]
    .map((n) => `<p><a href="https://shop.example.com/p/${n}?ref=mail">Offer ${n}</a> in {CITY}</p>`)
    .join('') +
  '<p>{CAMPAIGN_NAME} for {EMAIL}. <a href="{UNSUBSCRIBE_URL}">Unsubscribe</a></p></body></html>';

const source: MessageSource = {
  kind: 'marketing',
  customerUid: 'c000000000001',
  campaign: { uid: 'a000000000001', name: 'Spring' },
  list: {
    uid: 'b000000000001',
    name: 'Friends',
    contact: {
      company: 'Acme',
      address1: 'Main St 1',
      address2: '',
      city: 'Springfield',
      state: 'IL',
      zip: '62701',
      country: 'United States',
      phone: '',
      email: 'office@example.org',
      url: '',
    },
  },
  from: { name: 'Acme News', email: 'news@example.org' },
  replyTo: null,
  subject: 'News for {FIRST_NAME}',
  html,
  plain: 'Hi {FIRST_NAME}, read the news at https://shop.example.com/ and leave at {UNSUBSCRIBE_URL}',
  trackOpens: true,
  trackClicks: true,
  fieldDefaults: { FIRST_NAME: 'friend', LAST_NAME: '', CITY: 'town' },
};

const token = 'hR3xq0mBvE9aJ2kLz7NwPfTgYdUcSiOo';
function reader(n: number): MessageRecipient {
  return {
    email: `reader${n}@example.com`,
    uid: n.toString(16).padStart(13, '0'),
    fields: { FIRST_NAME: `Ada${n}`, LAST_NAME: 'Lovelace', CITY: n % 2 === 0 ? 'Zürich' : 'London' },
    messageId: `<a000000000001.${n}.mac@example.org>`,
    links: {
      click: (no) => `https://mail.example.net/c/${token}${n}/${no}`,
      open: () => `https://mail.example.net/o/${token}${n}`,
      unsubscribe: () => `https://mail.example.net/u/${token}${n}`,
      webView: () => `https://mail.example.net/v/${token}${n}`,
      updateProfile: () => `https://mail.example.net/p/${token}${n}`,
    },
  };
}

const readers = Array.from({ length: 1_000 }, (_, n) => reader(n));
const plainTags = await compileMessage(source);
const liquid = await compileMessage({
  ...source,
  html: html.replaceAll('{FIRST_NAME}', '{{ subscriber.first_name | default: "friend" }}'),
});

const withFile = await compileMessage({
  ...source,
  files: {
    attachments: [{ name: 'file.pdf', type: 'application/pdf', bytes: Buffer.alloc(FILE_BYTES, 'x') }],
    images: [],
  },
});

const results = { compiled: [0], liquid: [0], file: [0], composer: [0] };
for (let round = 0; round <= ROUNDS; round++) {
  const compiled = await fillTime(plainTags);
  const withLiquid = await fillTime(liquid);
  const attached = await fillTime(withFile);
  const composer = await composeTime();
  if (round === 0) continue; // warm-up
  results.compiled.push(compiled);
  results.liquid.push(withLiquid);
  results.file.push(attached);
  results.composer.push(composer);
}
const size = (await plainTags.fill(reader(1))).content.length;
console.log(`one message: ${size} bytes; CPU per message, median of ${ROUNDS} rounds`);
console.log(`  upper-case tags   ${microseconds(results.compiled)}`);
console.log(`  with Liquid       ${microseconds(results.liquid)}`);
console.log(`  with 200 KB more  ${microseconds(results.file)}  (encoded once, copied once for each)`);
console.log(`  general composer  ${microseconds(results.composer)}  (ready parts, nothing rendered)`);

/** In batches, as the sending loop does it. */
async function fillTime(message: CompiledMessage): Promise<number> {
  const start = process.cpuUsage();
  let bytes = 0;
  for (let n = 0; n < FILLS; n += BATCH) {
    const batch = readers.slice(n % readers.length, (n % readers.length) + BATCH);
    for (const { content } of await Promise.all(batch.map((one) => message.fill(one)))) bytes += content.length;
  }
  if (bytes === 0) throw new Error('nothing was filled');
  return cpuSince(start) / FILLS;
}

async function composeTime(): Promise<number> {
  const start = process.cpuUsage();
  for (let n = 0; n < COMPOSES; n++) {
    const subject = `News for Ada${n}`;
    const composer = new MailComposer({
      from: 'Acme News <news@example.org>',
      to: `reader${n}@example.com`,
      subject,
      html,
      text: words,
    });
    await new Promise<void>((resolve, reject) => {
      composer.compile().build((error: Error | null) => (error ? reject(error) : resolve()));
    });
  }
  return cpuSince(start) / COMPOSES;
}

function cpuSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

function microseconds(samples: readonly number[]): string {
  const sorted = samples.slice(1).toSorted((a, b) => a - b);
  return `${(sorted[Math.floor(sorted.length / 2)] ?? 0).toFixed(1).padStart(8)} µs`;
}
