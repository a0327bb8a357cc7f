/**
 * What signing costs. First: signatures a second of whole messages with RSA-2048, beside what `openssl speed` says the
 * same cores can sign. Then: messages filled, signed and handed over by the SMTP driver to a sink of another process,
 * unsigned, with Ed25519 and with RSA, in turns.
 *
 *   node bench/dkim.ts [--smoke] [--rounds 3] [--seconds 3] [--messages 20000]
 */
import { spawnSync } from 'node:child_process';
import os from 'node:os';
import { parseArgs } from 'node:util';
import { connectSmtp } from '../plugins/mailwright/smtp/smtp-driver.ts';
import { validateSettings } from '../plugins/mailwright/smtp/settings.ts';
import { compileMessage } from '../src/domain/content/compile-message.ts';
import type { CompiledMessage, MessageRecipient } from '../src/domain/content/message.ts';
import type { DkimAlgorithm, DkimIdentity } from '../src/domain/sending/signing/dkim-identity.ts';
import { makeDkimKey, openDkimKey } from '../src/domain/sending/signing/dkim-keys.ts';
import { signMessage } from '../src/domain/sending/signing/sign-message.ts';
import { giveBack } from '../src/lib/blocks.ts';
import { benchHtml } from './support/bench-message.ts';
import { startBenchSink, type BenchSink } from './support/sink-process.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    messages: { type: 'string' },
  },
});
const ROUNDS = Number(values.rounds ?? (values.smoke ? 1 : 3));
const SECONDS = Number(values.seconds ?? (values.smoke ? 1 : 3));
const MESSAGES = Number(values.messages ?? (values.smoke ? 500 : 20_000));
/** Messages that are signed at the same time, as many as a server's connections take. */
const IN_FLIGHT = 100;
const CORES = os.availableParallelism();
const RSA_SHARE_MIN = 0.8;
const ED25519_SHARE_MIN = 0.7;

const message = await compileMessage({
  kind: 'marketing',
  customerUid: 'c000000000001',
  campaign: { uid: 'a000000000001', name: 'Spring' },
  list: {
    uid: 'b000000000001',
    name: 'Friends',
    contact: {
      ...{ company: 'Acme', address1: '1', address2: '', city: 'Bath', state: '', zip: '', country: '' },
      ...{ phone: '', email: 'office@example.org', url: '' },
    },
  },
  from: { name: 'Acme', email: 'news@example.org' },
  replyTo: null,
  subject: 'News for {FIRST_NAME}',
  html: benchHtml({
    ...{ firstName: '{FIRST_NAME}', city: '{CITY}', unsubscribe: '{UNSUBSCRIBE_URL}' },
    offer: (n) => `https://shop.example.com/p/${n}`,
  }),
  plain: null,
  trackOpens: true,
  trackClicks: true,
  fieldDefaults: { FIRST_NAME: 'friend', CITY: 'town' },
});
const identities = { rsa: await identityOf('rsa-sha256'), ed25519: await identityOf('ed25519-sha256') };
const size = (await fillFor(message, 1)).content.length;
console.log(`${size} bytes a message, ${CORES} cores, Node ${process.version}, load ${os.loadavg()[0]?.toFixed(1)}`);

const shares: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const theirs = opensslRate();
  const ours = await signingRate(identities.rsa);
  if (theirs === undefined)
    console.log(`RSA-2048: ${ours.toFixed(0)} messages/s signed; no openssl here to compare with`);
  else {
    shares.push(ours / theirs);
    console.log(
      `RSA-2048: ${ours.toFixed(0)} messages/s signed, openssl ${theirs.toFixed(0)}/s: ${(ours / theirs).toFixed(2)}`,
    );
  }
}
if (shares.length > 0) tell('RSA-2048 of openssl speed', shares, RSA_SHARE_MIN);

const sink = await startBenchSink('chunking', 0);
const ways = [
  { name: 'unsigned', identity: undefined, found: new Array<Sent>() },
  { name: 'Ed25519', identity: identities.ed25519, found: new Array<Sent>() },
  { name: 'RSA-2048', identity: identities.rsa, found: new Array<Sent>() },
];
for (let round = 0; round <= ROUNDS; round++) {
  for (const { identity, found } of ways) {
    const sent = await measureSending(sink, identity);
    if (round > 0) found.push(sent); // the first one is for warming up
  }
}
sink.close();
for (const { name, found } of ways) {
  const shown = (of: (sent: Sent) => number) => median(found.map(of)).toFixed(0);
  console.log(
    `sent ${name}: ${shown((sent) => sent.rate)} messages/s; processor us a message: main thread ${shown((sent) => sent.mainMicroseconds)}, ` +
      `other threads ${shown((sent) => sent.threadsMicroseconds)}, receiver ${shown((sent) => sent.receiverMicroseconds)}`,
  );
}
const unsignedRates = ways[0]?.found.map(({ rate }) => rate) ?? [];
tell(
  'Ed25519 of unsigned',
  (ways[1]?.found ?? []).map(({ rate }, round) => rate / (unsignedRates[round] ?? rate)),
  ED25519_SHARE_MIN,
);

async function identityOf(algorithm: DkimAlgorithm): Promise<DkimIdentity> {
  const secret = 'a secret of no installation, for a bench';
  const { sealedPrivateKey } = await makeDkimKey(secret, algorithm, algorithm);
  const privateKey = openDkimKey(secret, algorithm, sealedPrivateKey);
  return { domain: 'example.org', keys: [{ selector: 'bench', algorithm, privateKey }] };
}

function fillFor(compiled: CompiledMessage, n: number) {
  const token = `hR3xq0mBvE9aJ2kLz7NwPfTgYdUcSiOo${n}`;
  const recipient: MessageRecipient = {
    email: `reader${n}@example.com`,
    uid: n.toString(16).padStart(13, '0'),
    fields: { FIRST_NAME: `Ada${n}`, CITY: 'Zürich' },
    messageId: `<a000000000001.${n}.mac@example.org>`,
    links: {
      click: (no) => `https://mail.example.net/c/${token}/${no}`,
      open: () => `https://mail.example.net/o/${token}`,
      unsubscribe: () => `https://mail.example.net/u/${token}`,
      webView: () => `https://mail.example.net/v/${token}`,
      updateProfile: () => `https://mail.example.net/p/${token}`,
    },
  };
  return compiled.fill(recipient);
}

/** Signatures a second of all cores; undefined without openssl. */
function opensslRate(): number | undefined {
  const options = ['speed', '-multi', String(CORES), '-seconds', String(SECONDS), 'rsa2048'];
  const { status, stdout } = spawnSync('openssl', options, { encoding: 'utf8' });
  const rate = /rsa\s+2048 bits\s+\S+\s+\S+\s+([\d.]+)/.exec(stdout ?? '')?.[1];
  return status === 0 && rate !== undefined ? Number(rate) : undefined;
}

async function signingRate(identity: DkimIdentity): Promise<number> {
  const contents = await Promise.all(Array.from({ length: 200 }, async (_, n) => (await fillFor(message, n)).content));
  const endsAt = performance.now() + SECONDS * 1_000;
  const startedAt = performance.now();
  let signed = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      await signMessage(contents[signed % contents.length] ?? Buffer.alloc(0), identity);
      signed++;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  return signed / ((performance.now() - startedAt) / 1_000);
}

interface Sent {
  readonly rate: number;
  /** Processor time a message. */
  readonly mainMicroseconds: number;
  readonly threadsMicroseconds: number;
  readonly receiverMicroseconds: number;
}

async function measureSending(receiver: BenchSink, identity?: DkimIdentity): Promise<Sent> {
  const checked = validateSettings({
    ...{ host: '127.0.0.1', port: receiver.port, encryption: 'none', connections: 10, window: 10 },
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const driver = connectSmtp(checked.settings, {
    connectionsMax: 10,
    clientName: 'bench.invalid',
    replyTimeoutMs: 30_000,
  });
  const before = { all: process.cpuUsage(), main: process.threadCpuUsage(), receiver: receiver.cpuSeconds() };
  const startedAt = performance.now();
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < MESSAGES) {
      const filled = await fillFor(message, next++);
      const content = identity ? await signMessage(filled.content, identity) : filled.content;
      if (identity) giveBack(filled.content);
      await driver.send({ ...filled, content });
      giveBack(content);
    }
  };
  await Promise.all(Array.from({ length: driver.capacity }, lane));
  const seconds = (performance.now() - startedAt) / 1_000;
  const main = total(process.threadCpuUsage(before.main));
  const sent = {
    rate: MESSAGES / seconds,
    mainMicroseconds: main / MESSAGES,
    threadsMicroseconds: (total(process.cpuUsage(before.all)) - main) / MESSAGES,
    receiverMicroseconds: ((receiver.cpuSeconds() - before.receiver) * 1e6) / MESSAGES,
  };
  await driver.close();
  return sent;
}

function total({ user, system }: NodeJS.CpuUsage): number {
  return user + system;
}

function tell(what: string, samples: readonly number[], min: number): void {
  const share = median(samples);
  console.log(`${what}: ${share.toFixed(2)}, bar ${min}: ${share >= min ? 'reached' : 'NOT reached'}`);
  if (share < min && !values.smoke) process.exitCode = 1;
}

function median(samples: readonly number[]): number {
  return samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? 0;
}
