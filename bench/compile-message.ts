/**
 * What composing one recipient's message costs, as a campaign's sender does it: its Message-ID and signed links made,
 * then the compiled message filled. Beside it a general-purpose composer that is given finished parts, and the same
 * message with a file of 200 KB. `--smoke` runs it briefly.
 */
import MailComposer from 'nodemailer/lib/mail-composer';
import { compileMessage } from '../src/domain/content/compile-message.ts';
import type { CompiledMessage, FilledMessage, MessageSource } from '../src/domain/content/message.ts';
import type { Installation } from '../src/domain/context.ts';
import { deliveryMessageId } from '../src/domain/tracking/delivery-message-id.ts';
import { linkSignerOf } from '../src/domain/tracking/link-signer.ts';
import { limitsOf } from '../src/app/installation.ts';
import { loadConfig } from '../src/config/load-config.ts';
import { recipientOfCampaign } from '../src/domain/tracking/tracking.ts';
import { benchHtml, benchText, CAMPAIGN } from './support/bench-message.ts';

const isSmoke = process.argv.includes('--smoke');
const ROUNDS = isSmoke ? 3 : 9;
const FILLS = isSmoke ? 500 : 20_000;
/** Messages in flight to one server. */
const BATCH = 50;
const FILE_BYTES = 200_000;
const COMPOSES = isSmoke ? 50 : 1_000;

const installation: Installation = {
  baseUrl: 'https://mail.example.net',
  secret: 'bench-secret-'.repeat(4),
  limits: limitsOf(loadConfig({})),
};
const signer = linkSignerOf(installation);

const source: MessageSource = {
  kind: 'marketing',
  customerUid: 'c000000000001',
  campaign: { uid: 'a000000000001', name: 'Spring' },
  list: {
    uid: 'b000000000001',
    name: 'Friends',
    contact: {
      company: 'Shop',
      address1: 'High Street 1',
      address2: '',
      city: 'Springfield',
      state: 'CA',
      zip: '12345',
      country: 'United States',
      phone: '',
      email: 'shop@shop.example',
      url: '',
    },
  },
  from: { name: 'Shop', email: 'news@shop.example' },
  replyTo: null,
  ...CAMPAIGN,
  plain: null,
  trackOpens: true,
  trackClicks: true,
  fieldDefaults: { FIRST_NAME: 'friend', LAST_NAME: '', CITY: 'town' },
};

const tags = await compileMessage(source);
const personal = await compileMessage({
  ...source,
  html: CAMPAIGN.html.replaceAll(/(offer\/\d)/g, '$1?for={EMAIL}'),
});
const liquid = await compileMessage({
  ...source,
  html: CAMPAIGN.html.replaceAll('{FIRST_NAME}', '{{ subscriber.first_name | default: "friend" }}'),
});
const withFile = await compileMessage({
  ...source,
  files: {
    attachments: [{ name: 'file.pdf', type: 'application/pdf', bytes: Buffer.alloc(FILE_BYTES, 'x') }],
    images: [],
  },
});

const results = { tags: [0], personal: [0], liquid: [0], file: [0], composer: [0] };
for (let round = 0; round <= ROUNDS; round++) {
  const times = {
    tags: await fillTime(tags),
    personal: await fillTime(personal),
    liquid: await fillTime(liquid),
    file: await fillTime(withFile),
    composer: await composeTime(),
  };
  if (round === 0) continue; // warm-up
  results.tags.push(times.tags);
  results.personal.push(times.personal);
  results.liquid.push(times.liquid);
  results.file.push(times.file);
  results.composer.push(times.composer);
}
const size = (await fill(tags, 1)).content.length;
console.log(`one message: ${size} bytes; CPU per message, median of ${ROUNDS} rounds`);
console.log(`  upper-case tags   ${microseconds(results.tags)}`);
console.log(`  personal links    ${microseconds(results.personal)}  (each leads elsewhere for each)`);
console.log(`  with Liquid       ${microseconds(results.liquid)}`);
console.log(`  with 200 KB more  ${microseconds(results.file)}  (encoded once, copied once for each)`);
console.log(`  general composer  ${microseconds(results.composer)}  (ready parts, nothing rendered)`);

function fill(message: CompiledMessage, n: number): FilledMessage | Promise<FilledMessage> {
  const recipient = recipientOfCampaign({
    customerId: 7n,
    listId: 21n,
    campaignId: 345n,
    subscriberId: BigInt(4_000_000 + n),
  });
  return message.fill({
    email: `person${n}@example.org`,
    uid: '0123456789abc',
    fields: { FIRST_NAME: `Name${n}`, CITY: n % 2 === 0 ? 'Zürich' : `City${n % 100}` },
    messageId: deliveryMessageId(installation, recipient, 'shop.example'),
    links: signer.forRecipient(recipient),
  });
}

/** In batches, as the sending loop does it. */
async function fillTime(message: CompiledMessage): Promise<number> {
  const start = process.cpuUsage();
  let bytes = 0;
  for (let from = 0; from < FILLS; from += BATCH) {
    const batch = Array.from({ length: BATCH }, async (_, index) => fill(message, from + index));
    for (const { content } of await Promise.all(batch)) bytes += content.length;
  }
  if (bytes === 0) throw new Error('nothing was filled');
  return cpuSince(start) / FILLS;
}

async function composeTime(): Promise<number> {
  const wording = {
    ...{ firstName: 'Ada', city: 'Rome', unsubscribe: 'https://mail.example.net/u/1' },
    offer: (n: number) => `https://mail.example.net/c/${n}`,
  };
  const [html, text] = [benchHtml(wording), benchText(wording)];
  const start = process.cpuUsage();
  for (let n = 0; n < COMPOSES; n++) {
    const subject = `News for Ada${n}`;
    const composer = new MailComposer({
      from: 'Shop <news@shop.example>',
      to: `reader${n}@example.com`,
      subject,
      html,
      text,
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
