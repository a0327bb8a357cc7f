/** What arrives at SparkPost, what the test of its settings says, and which of its reports are believed. */
import { describe, expect, test } from 'vitest';
import { plugin } from '../../plugins/mailwright/sparkpost/index.ts';
import { openOutboundPool } from '../../src/lib/outbound-pool.ts';
import type { WebhookRequest } from '../../src/plugin-api/index.ts';
import { afterFile } from '../support/after-file.ts';
import type { ApiAnswer } from '../support/api-vendor.ts';
import { driverOf } from '../support/drivers-of-plugin.ts';
import { SPARKPOST_WEBHOOK_KEY, sparkPostReport, startSparkPostVendor } from '../support/sparkpost-vendor.ts';
import { driverFor, UNSUBSCRIBE, wholeMessage, type MessageTexts } from '../support/whole-message.ts';

const api = driverOf(plugin, 'sparkpost-api');
const vendor = await startSparkPostVendor();
const driver = driverFor(api, vendor);
afterFile(async () => {
  await driver.close();
  await vendor.close();
});

async function arrives(texts: MessageTexts = {}): Promise<string> {
  await driver.send(wholeMessage(texts));
  return vendor.taken().at(-1)?.content ?? '';
}
const requested = () => JSON.parse(vendor.requests().at(-1)?.body.toString('utf8') ?? '');
const asWritten = (texts: MessageTexts) => Buffer.from(wholeMessage(texts).content).toString('utf8');

describe('a message', () => {
  test('arrives byte by byte, with its headers, images and attachments', async () => {
    const content = await arrives({ html: '<p>Grüße</p>' });
    expect(content).toBe(asWritten({ html: '<p>Grüße</p>' }));
    expect(content.replaceAll('\r\n ', ' ')).toContain(`\r\nList-Unsubscribe: ${UNSUBSCRIBE}\r\n`);
  });
  test('is for one recipient, has our id, and is neither tracked nor filled in', async () => {
    await arrives();
    expect(requested()).toMatchObject({
      options: { open_tracking: false, click_tracking: false, transactional: true, perform_substitutions: false },
      recipients: [{ address: { email: 'ann@there.test' }, metadata: { mailwright_id: 'mail.k1' } }],
    });
    expect(requested().recipients[0]).not.toHaveProperty('substitution_data');
  });
  const written = 'Dear {{first_name}}, {{{raw}}} {{ if x }} {x} }} {{ {{}} {{{{ }}}}} }{ {} {{{';
  test('arrives as written, with what looks like a template, in texts and headers', async () => {
    const texts = {
      ...{ subject: written, text: written, html: `<p>${written}</p>`, to: '"{{x}} {{{y}}}" <ann@there.test>' },
      headers: 'X-Campaign: {{a}}{{b}}\r\n',
    };
    expect(await arrives(texts)).toBe(asWritten(texts));
  });
  test.each(['{{', '}}', '{{{', '}}}', '{{{{', '{}', '}{', '{{}}', '{ {{ }', '{{a}}{', '}{{a}}', '{{{a}}}}', 'a{{b'])(
    'with %s in its subject arrives as written',
    async (subject) => {
      expect(await arrives({ subject })).toBe(asWritten({ subject }));
      // Nothing is left in it that could be read, but names of ours.
      const [line = ''] = /^Subject: .*/m.exec(requested().content.email_rfc822) ?? [];
      expect(line.replaceAll(/\{\{mailwright_braces_\d+\}\}/g, '')).not.toMatch(/[{}]{2}/);
    },
  );
  test('without a body arrives', async () => {
    const content = Buffer.from('From: news@house.test\r\nSubject: {{x}}\r\n\r\n');
    await driver.send({ ...wholeMessage(), content });
    expect(vendor.taken().at(-1)?.content).toBe(content.toString());
  });
  test('that is not UTF-8 is refused, because it would arrive as something else', async () => {
    const content = Buffer.from('Subject: x\r\n\r\nGr\xfc\xdfe\r\n', 'latin1');
    const before = vendor.requests().length;
    await expect(driver.send({ ...wholeMessage(), content })).rejects.toMatchObject({
      ...{ kind: 'refused', about: 'message', message: expect.stringContaining('UTF-8') },
    });
    expect(vendor.requests()).toHaveLength(before);
  });
  test('that begins with a mark of byte order keeps it', async () => {
    const content = Buffer.from('\ufeffSubject: x\r\n\r\nHello\r\n');
    await driver.send({ ...wholeMessage(), content });
    expect(vendor.taken().at(-1)?.content).toBe(content.toString());
  });
  test.each([
    ['7001', 'Unconfigured or unverified sending domain.', 'sender'],
    ['1902', 'recipient address was suppressed due to customer policy', 'recipient'],
    ['1902', 'Message generation rejected', undefined],
  ])('that is refused with the code %s (%s) is the fault of the %s', async (code, description, about) => {
    vendor.script([{ status: 400, body: { errors: [{ message: 'Refused', code, description }] } }]);
    await expect(driver.send(wholeMessage())).rejects.toMatchObject({ kind: 'refused', about: about ?? 'message' });
  });
  test('that is larger than 20 MB is refused without asking', async () => {
    const content = Buffer.alloc(20 * 1_048_576 + 1, 'a');
    await expect(driver.send({ ...wholeMessage(), content })).rejects.toMatchObject({
      ...{ kind: 'refused', about: 'message' },
    });
  });
});

describe('the test of the settings', () => {
  const account = (results: object): ApiAnswer => ({ status: 200, body: { results } });
  const period = (used: number, limit: number) => ({ used, limit, start: 'a', end: '2026-11-28T15:00:00.000Z' });
  const active = (usage: object) => account({ status: 'active', usage });
  test.each<[string, ApiAnswer, string | null]>([
    ['an account of an enterprise', account({ status: 'active' }), null],
    ['an account with messages left', active({ day: period(8, 50), month: period(49, 500) }), null],
    ['an account without limits', active({ day: period(8, 0), month: null }), null],
    [
      'a day that is used up',
      active({ day: period(50, 50), month: period(60, 500) }),
      '50 of its 50 messages of this day',
    ],
    ['a month that is used up', active({ month: period(501, 500) }), 'again after 2026-11-28T15:00:00.000Z'],
    [
      'a suspended account',
      account({ status: 'suspended', status_reason_category: 'NONPAYMENT' }),
      'suspended (NONPAYMENT)',
    ],
    [
      'a suspended account, by 403',
      { status: 403, body: { errors: [{ message: 'Account suspended' }] } },
      'has suspended',
    ],
    [
      'a key that may not read the account',
      { status: 403, body: { errors: [{ message: 'Forbidden.' }] } },
      'may not read',
    ],
    ['trouble at SparkPost', { status: 503, body: 'away' }, 'SparkPost answered 503'],
    ['another server', { status: 200, body: '<html>' }, 'is the endpoint right?'],
  ])('of %s', async (_name, answer, message) => {
    const asked = await startSparkPostVendor({ account: answer });
    const asking = driverFor(api, asked);
    const tested = await asking.test();
    await asking.close();
    await asked.close();
    expect(tested).toEqual(message === null ? { ok: true } : { ok: false, message: expect.stringContaining(message) });
  });
  test('of a wrong key, or one of another region', async () => {
    const asking = driverFor(api, vendor, { api_key: 'other', region: 'eu' });
    expect(await asking.test()).toEqual({ ok: false, message: expect.stringContaining('a key of the region "eu"') });
    await asking.close();
  });
});

const settings = { api_key: 'k', webhook_key: SPARKPOST_WEBHOOK_KEY };
const verify = (request: WebhookRequest, with_: Readonly<Record<string, string>> = settings) =>
  api.webhook?.verify(request, with_);
const parse = (request: WebhookRequest) => api.webhook?.parse(request, settings);
const posted = (content: string): WebhookRequest => ({ ...sparkPostReport([]), body: Buffer.from(content) });

describe('a report', () => {
  const request = sparkPostReport([{ msys: {} }]);
  test('is believed at the secret address only', () => {
    expect(verify(request)).toBe(true);
    expect(verify({ ...request, query: {} })).toBe(false);
    expect(verify(sparkPostReport([], { key: SPARKPOST_WEBHOOK_KEY.replace('0', '1') }))).toBe(false);
    expect(verify(request, { api_key: 'k' })).toBe(false);
    expect(verify(sparkPostReport([], { key: '' }), { webhook_key: '' })).toBe(false);
  });
  test('has to have the credentials, where there are some', () => {
    const guarded = { ...settings, webhook_username: 'me', webhook_password: 'secret' };
    const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
    expect(verify({ ...request, headers: basic('me:secret') }, guarded)).toBe(true);
    expect(verify({ ...request, headers: basic('me:other') }, guarded)).toBe(false);
    expect(verify(request, guarded)).toBe(false);
  });
  test('comes to the address with the key, which is made where none was given', () => {
    expect(api.webhook?.address?.('https://house.test/webhook/sparkpost-api/u1', settings)).toBe(
      `https://house.test/webhook/sparkpost-api/u1?key=${SPARKPOST_WEBHOOK_KEY}`,
    );
    const made = [1, 2]
      .map(() => api.validate({ api_key: 'k' }))
      .map((checked) => checked.ok && checked.settings['webhook_key']);
    expect(made[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(made[0]).not.toBe(made[1]);
  });
  test.each(['', 'null', '{}', '"text"', '[', '<html>', '42'])('that is %j is an error', (content) =>
    expect(() => parse(posted(content))).toThrow(),
  );
  test('that cannot be read in part is read in its other parts', () => {
    const right = { msys: { message_event: { type: 'delivery', event_id: 'e', transmission_id: 't' } } };
    const wrong = [
      null,
      7,
      {},
      { msys: null },
      { msys: { message_event: null } },
      { msys: { message_event: { type: 5 } } },
    ];
    expect(parse(sparkPostReport([...wrong, right]))).toMatchObject([
      ...wrong.map(() => ({ kind: 'ignored', name: 'not readable' })),
      { kind: 'delivered', id: 'e', messageId: 't' },
    ]);
  });
});

describe('an event', () => {
  const named = { event_id: 'e', transmission_id: 't', rcpt_meta: { mailwright_id: 'mail.k' } };
  const eventOf = (event: object, family = 'message_event') =>
    parse(sparkPostReport([{ msys: { [family]: { ...named, ...event } } }]));
  test.each([
    [['10', '30', '90'], 'hard'],
    [['20', '21', '22', '23', '24', '40', '70', 22], 'soft'],
    [['25', '26', '50', '51', '52', '53', '54'], 'blocked'],
    [['1', '', '999', null, undefined], 'unclear'],
  ])('of a bounce with the class %j is of type %s', (classes, bounceType) => {
    for (const bounceClass of classes)
      for (const type of ['bounce', 'out_of_band'])
        expect(eventOf({ type, bounce_class: bounceClass, raw_reason: '550 no' })).toMatchObject([
          { kind: 'bounced', bounceType, id: 'e', messageId: 't', ownId: 'mail.k', description: '550 no' },
        ]);
  });
  test.each(['60', '80', '100'])('of a mail that answers by itself (%s) is no bounce', (bounceClass) =>
    expect(eventOf({ type: 'out_of_band', bounce_class: bounceClass })).toEqual([
      { kind: 'ignored', name: 'out_of_band' },
    ]),
  );
  test.each([
    ['message_event', 'policy_rejection'],
    ['gen_event', 'generation_rejection'],
    ['gen_event', 'generation_failure'],
  ])('%s %s is a bounce that was blocked', (family, type) =>
    expect(eventOf({ type, reason: 'suppressed' }, family)).toMatchObject([
      { kind: 'bounced', bounceType: 'blocked', description: 'suppressed' },
    ]),
  );
  test.each([
    ...[
      ['message_event', 'injection'],
      ['message_event', 'delay'],
      ['track_event', 'open'],
    ],
    ...[
      ['track_event', 'initial_open'],
      ['track_event', 'click'],
    ],
    ['relay_event', 'relay_injection'],
  ])('%s %s is ignored by its name', (family, type) =>
    expect(eventOf({ type }, family)).toEqual([{ kind: 'ignored', name: type }]),
  );
  test('with our id only is found by it; one without any is ignored', () => {
    expect(eventOf({ type: 'delivery', transmission_id: undefined })).toMatchObject([{ messageId: 'mail.k' }]);
    expect(eventOf({ type: 'delivery', transmission_id: 0.5, rcpt_meta: [] })).toMatchObject([{ messageId: '0.5' }]);
    expect(eventOf({ type: 'delivery', transmission_id: '', rcpt_meta: [] })).toEqual([
      { kind: 'ignored', name: 'delivery' },
    ]);
  });
});

test('the domains of the account are shown, added and checked', async () => {
  const checked = api.validate(vendor.settings);
  if (!checked.ok) throw new Error('the settings are right');
  const domains = api.identities?.(checked.settings, {
    ...{ connectionsMax: 1, clientName: 'client.test', replyTimeoutMs: 5_000, openHttp: openOutboundPool },
  });
  const verified = { kind: 'domain', name: 'house.test', isVerified: true, status: 'verified', records: [] };
  expect(await domains?.list()).toEqual([verified]);
  const record = { type: 'TXT', name: 'scph0316._domainkey.new.test', value: 'v=DKIM1; k=rsa; h=sha256; p=MIGfMA0' };
  const wanted = { kind: 'domain', name: 'new.test' } as const;
  expect(await domains?.add(wanted)).toEqual({
    ...{ ...wanted, isVerified: false, status: 'unverified' },
    records: [{ ...record, isFound: null }],
  });
  await expect(domains?.add(wanted)).rejects.toThrow('SparkPost answered 409');
  expect(await domains?.check(wanted)).toEqual({
    ...{ ...wanted, isVerified: true, status: 'verified' },
    records: [{ ...record, isFound: true }],
  });
  await expect(domains?.check({ ...wanted, name: 'other.test' })).rejects.toThrow('SparkPost answered 404');
});

test('by SMTP a message has instructions in short lines before everything else', async () => {
  const smtp = driverOf(plugin, 'sparkpost-smtp');
  const checked = smtp.validate({ password: 'key', region: 'eu' });
  if (!checked.ok) throw new Error('the settings are right');
  expect(checked.settings).toMatchObject({ webhook_key: expect.stringMatching(/^[0-9a-f]{32}$/) });
  const taken: { readonly settings: object; readonly content: string }[] = [];
  const preset = smtp.connect(checked.settings, {
    ...{ connectionsMax: 1, clientName: 'client.test', replyTimeoutMs: 5_000 },
    connectSmtp: (given) => ({
      capacity: 1,
      send: async ({ content, messageId }) => {
        taken.push({ settings: given, content: Buffer.from(content).toString('utf8') });
        return { runtimeMessageId: messageId, reply: '250 2.0.0 OK' };
      },
      test: async () => ({ ok: true }),
      close: async () => undefined,
    }),
  });
  await preset.send(wholeMessage({ subject: '{{x}}' }));
  const [{ settings: given, content } = { settings: {}, content: '' }] = taken;
  expect(given).toMatchObject({
    ...{ host: 'smtp.eu.sparkpostmail.com', port: 587, encryption: 'starttls', username: 'SMTP_Injection' },
    messages_per_connection: 100,
  });
  expect(given).not.toHaveProperty('webhook_key');
  const header = /^X-MSYS-API: ((?:[^\r]+\r\n )*[^\r]+)\r\nFrom: /.exec(content)?.[1] ?? '';
  expect(JSON.parse(header)).toEqual({
    metadata: { mailwright_id: 'mail.k1' },
    options: { open_tracking: false, click_tracking: false, transactional: true },
  });
  // By SMTP there is no template language.
  expect(content).toContain('\r\nSubject: {{x}}\r\n');
});
