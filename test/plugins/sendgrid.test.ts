/** What arrives at SendGrid, what the test of its settings says, and which of its reports are believed. */
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { plugin } from '../../plugins/mailwright/sendgrid/index.ts';
import { openOutboundPool } from '../../src/lib/outbound-pool.ts';
import { SendingError, type WebhookRequest } from '../../src/plugin-api/index.ts';
import { afterFile } from '../support/after-file.ts';
import type { ApiAnswer } from '../support/api-vendor.ts';
import { driverOf, smtpSettingsOf } from '../support/drivers-of-plugin.ts';
import {
  SENDGRID_PUBLIC_KEY,
  sendGridReport,
  signedBody,
  startSendGridVendor,
  type SendGridAccount,
} from '../support/sendgrid-vendor.ts';
import { TINY_PNG } from '../support/tiny-png.ts';
import {
  driverFor,
  MESSAGE_ID,
  NOTES,
  UNSUBSCRIBE,
  wholeMessage,
  type MessageTexts,
} from '../support/whole-message.ts';

const api = driverOf(plugin, 'sendgrid-api');
const vendor = await startSendGridVendor();
const driver = driverFor(api, vendor);
afterFile(async () => {
  await driver.close();
  await vendor.close();
});

async function arrives(texts: MessageTexts = {}) {
  await driver.send(wholeMessage(texts));
  const request = vendor.requests().at(-1);
  return JSON.parse(request?.body.toString('utf8') ?? '');
}

describe('a message', () => {
  test('arrives for one recipient, with our id, both addresses and both texts', async () => {
    const mail = await arrives({ html: '<p>Grüße <img src="cid:logo@house.test"></p>', text: 'Grüße' });
    expect(mail.personalizations).toEqual([
      { to: [{ email: 'ann@there.test', name: 'Ann' }], custom_args: { mailwright_id: 'mail.k1' } },
    ]);
    expect(mail.from).toEqual({ email: 'news@house.test', name: 'Jürgen' });
    expect(mail.reply_to).toEqual({ email: 'desk@house.test', name: 'Desk' });
    expect(mail.subject).toBe('News');
    expect(mail.content.map(({ type, value }: { type: string; value: string }) => [type, value.trim()])).toEqual([
      ['text/plain', 'Grüße'],
      ['text/html', '<p>Grüße <img src="cid:logo@house.test"></p>'],
    ]);
  });
  test('arrives with the headers of a campaign, and without those that SendGrid writes', async () => {
    const { headers } = await arrives({ headers: 'X-SG-ID: mine\r\nReceived: from elsewhere\r\n' });
    expect(headers).toEqual({
      'Message-ID': MESSAGE_ID,
      'List-Unsubscribe': UNSUBSCRIBE,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'List-Id': '=?utf-8?Q?F=C3=BCr_alle?= <l1.house.test>',
      'Feedback-ID': 'c1:k1:l1:mailwright',
      Precedence: 'bulk',
    });
  });
  test('arrives with its inline image and its attachment', async () => {
    const { attachments } = await arrives();
    expect(attachments).toEqual([
      {
        ...{ type: 'image/png', filename: 'logo.png', disposition: 'inline', content_id: 'logo@house.test' },
        content: Buffer.from(TINY_PNG).toString('base64'),
      },
      {
        ...{ type: 'text/plain', filename: 'notes.txt', disposition: 'attachment' },
        content: Buffer.from(NOTES).toString('base64'),
      },
    ]);
  });
  test('arrives as written, with what looks like a template', async () => {
    const written = 'Dear {{first_name}}, -name- %name% [unsubscribe] <%body%> {{{raw}}} {{#if x}}';
    const mail = await arrives({ subject: written, text: written, html: `<p>${written}</p>` });
    expect(mail.subject).toBe(written);
    expect(mail.content[0].value.trim()).toBe(written);
    expect(mail.content[1].value.trim()).toBe(`<p>${written}</p>`);
    // Only with one of these SendGrid replaces anything.
    expect(mail).not.toHaveProperty('template_id');
    expect(Object.keys(mail.personalizations[0])).toEqual(['to', 'custom_args']);
  });
  test('arrives without tracking, footers and links of SendGrid', async () => {
    const { tracking_settings: tracking, mail_settings: settings } = await arrives();
    expect(tracking).toEqual({
      click_tracking: { enable: false, enable_text: false },
      open_tracking: { enable: false },
      subscription_tracking: { enable: false },
      ganalytics: { enable: false },
    });
    expect(settings).toEqual({ footer: { enable: false } });
  });
  test('without any text is sent with a space', async () => {
    const content = Buffer.from('From: news@house.test\r\nSubject: Empty\r\n\r\n');
    await driver.send({ ...wholeMessage(), content });
    const { content: texts } = JSON.parse(vendor.requests().at(-1)?.body.toString('utf8') ?? '');
    expect(texts).toEqual([{ type: 'text/plain', value: ' ' }]);
  });
  test('that is larger than 30 MB is refused without asking', async () => {
    const before = vendor.requests().length;
    const content = Buffer.alloc(30 * 1_048_576 + 1, 'a');
    await expect(driver.send({ ...wholeMessage(), content })).rejects.toMatchObject({
      kind: 'refused',
      about: 'message',
    });
    expect(vendor.requests()).toHaveLength(before);
  });
  test('is deferred until the time that SendGrid names', async () => {
    const reset = String(Math.ceil(Date.now() / 1_000) + 40);
    vendor.script([{ status: 429, headers: { 'X-RateLimit-Reset': reset }, body: { errors: [] } }]);
    const error = await driver.send(wholeMessage()).catch((thrown: unknown) => thrown);
    if (!(error instanceof SendingError)) throw new Error('nothing was thrown');
    expect(error).toMatchObject({ kind: 'deferred', about: 'rate' });
    expect(error.retryAfterSeconds).toBeGreaterThan(30);
    expect(error.retryAfterSeconds).toBeLessThanOrEqual(41);
  });
  test.each([
    [400, 'from.email', 'Does not contain a valid address.', 'sender'],
    [403, 'from', 'The from address does not match a verified Sender Identity.', 'sender'],
    [400, 'subject', 'The subject is required.', 'message'],
    [400, 'personalizations.0.to.0.email', 'Does not contain a valid address.', 'recipient'],
  ])('that is refused with %d for %s: %s, is the fault of the %s', async (status, field, message, about) => {
    vendor.script([{ status, body: { errors: [{ message, field }] } }]);
    await expect(driver.send(wholeMessage())).rejects.toMatchObject({ kind: 'refused', about });
  });
});

describe('the test of the settings', () => {
  const errors = (status: number, message: string): ApiAnswer => ({ status, body: { errors: [{ message }] } });
  const credits = { remain: 0, total: 100, overage: 0, used: 100, next_reset: '2026-11-28' };
  const right = { scopes: ['mail.send'] };
  test.each<[string, SendGridAccount, string | null]>([
    ['a key that may only send', right, null],
    ['a key with credits left', { ...right, credits: { ...credits, remain: 1 } }, null],
    ['a paid account that sends more than its plan has', { ...right, credits: { ...credits, overage: 149 } }, null],
    ['an account without credits', { ...right, credits: { ...credits, total: 0 } }, null],
    ['a trial that has sent all', { ...right, credits }, 'has used 100 of its 100 messages'],
    ['a paid account at its end', { ...right, credits: { ...credits, overage: 150 } }, 'again on 2026-11-28'],
    ['a key that may not send', { scopes: ['stats.read'] }, 'permission "Mail Send"'],
    ['a key of another region', { scopes: errors(401, 'authorization required') }, 'the region "global"'],
    ['an account with nothing left', { scopes: errors(401, 'Maximum credits exceeded') }, 'no messages left'],
    ['a suspended account', { scopes: errors(403, 'Your account is suspended') }, 'lets this account send nothing'],
    ['a machine that is not listed', { scopes: errors(403, 'access forbidden') }, 'IP access management'],
    ['trouble at SendGrid', { scopes: errors(503, 'away') }, 'SendGrid answered 503'],
    ['another server', { scopes: { status: 200, body: '<html>' } }, 'is the endpoint right?'],
  ])('of %s', async (_name, account, message) => {
    const asked = await startSendGridVendor(account);
    const asking = driverFor(api, asked);
    const tested = await asking.test();
    await asking.close();
    await asked.close();
    expect(tested).toEqual(message === null ? { ok: true } : { ok: false, message: expect.stringContaining(message) });
  });
  test('of a wrong key', async () => {
    const asking = driverFor(api, vendor, { api_key: 'SG.wrong' });
    expect(await asking.test()).toEqual({ ok: false, message: expect.stringContaining('refused the API key') });
    await asking.close();
  });
});

test('the senders of the account are shown, added and checked', async () => {
  const checked = api.validate(vendor.settings);
  if (!checked.ok) throw new Error('the settings are right');
  const senders = api.identities?.(checked.settings, {
    ...{ connectionsMax: 1, clientName: 'client.test', replyTimeoutMs: 5_000, openHttp: openOutboundPool },
  });
  const record = (isFound: boolean) => ({
    ...{ type: 'CNAME', name: 's1._domainkey.new.test', isFound },
    value: 's1.domainkey.u1.wl.sendgrid.net',
  });
  const ann = { kind: 'email', name: 'ann@house.test', isVerified: true, status: 'verified', records: [] } as const;
  expect(await senders?.list()).toEqual([
    expect.objectContaining({ kind: 'domain', name: 'house.test', isVerified: true }),
    ann,
  ]);
  const wanted = { kind: 'domain', name: 'new.test' } as const;
  const added = await senders?.add(wanted);
  expect(added).toMatchObject({ ...wanted, isVerified: false, status: 'pending' });
  expect(added?.records).toHaveLength(3);
  expect(added?.records[1]).toEqual(record(false));
  await expect(senders?.add(wanted)).rejects.toThrow('SendGrid answered 400');
  const found = await senders?.check(wanted);
  expect(found).toMatchObject({ isVerified: true, status: 'verified' });
  expect(found?.records[1]).toEqual(record(true));
  expect(await senders?.check({ kind: 'email', name: 'Ann@house.test' })).toEqual(ann);
  // The search of SendGrid finds longer names, too.
  await expect(senders?.check({ kind: 'domain', name: 'ew.test' })).rejects.toThrow('does not know ew.test');
  await expect(senders?.check({ kind: 'email', name: 'x@house.test' })).rejects.toThrow('does not know x@house.test');
});

const HOUR_MS = 3_600_000;
const settings = { api_key: 'k', webhook_public_key: SENDGRID_PUBLIC_KEY };
const verify = (request: WebhookRequest, with_: Readonly<Record<string, string>> = settings) =>
  api.webhook?.verify(request, with_);
const parse = (request: WebhookRequest) => api.webhook?.parse(request, settings);

describe('a report', () => {
  const events = [{ event: 'delivered', sg_event_id: 'e', sg_message_id: 'm.x' }];
  const now = new Date('2026-11-27T12:00:00Z');
  test('of an hour or a day ago, or from a clock that is ahead, is believed', () => {
    expect(verify(sendGridReport(events))).toBe(true);
    expect(verify(sendGridReport(events, { at: now, signedAt: new Date(now.getTime() - 24 * HOUR_MS) }))).toBe(true);
    expect(verify(sendGridReport(events, { at: now, signedAt: new Date(now.getTime() + 60_000) }))).toBe(true);
  });
  test('that is older, or from the future, is not', () => {
    expect(verify(sendGridReport(events, { at: now, signedAt: new Date(now.getTime() - 26 * HOUR_MS) }))).toBe(false);
    expect(verify(sendGridReport(events, { at: now, signedAt: new Date(now.getTime() + HOUR_MS) }))).toBe(false);
  });
  test('without its last line end, with another time, or with an altered signature is not', () => {
    const request = sendGridReport(events);
    expect(verify({ ...request, body: request.body.subarray(0, -2) })).toBe(false);
    const name = 'x-twilio-email-event-webhook-timestamp';
    const later = String(Number(request.headers[name]) + 1);
    expect(verify({ ...request, headers: { ...request.headers, [name]: later } })).toBe(false);
    for (const [header, value] of Object.entries(request.headers)) {
      expect(verify({ ...request, headers: { ...request.headers, [header]: '' } })).toBe(false);
      expect(verify({ ...request, headers: { ...request.headers, [header]: `${value.slice(1)}A` } })).toBe(false);
      expect(verify({ ...request, headers: { ...request.headers, [header]: '\0' } })).toBe(false);
    }
  });
  test('is not believed without a key, or with that of somebody else', () => {
    const request = sendGridReport(events);
    expect(verify(request, { api_key: 'k' })).toBe(false);
    expect(verify(request, { webhook_public_key: 'nonsense' })).toBe(false);
    expect(verify(request, { webhook_public_key: VECTOR.key })).toBe(false);
  });
  test('needs a key of the curve that SendGrid signs with', () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
    const key = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
    expect(api.validate({ api_key: 'k', webhook_public_key: key })).toMatchObject({
      ...{ ok: false, errors: { webhook_public_key: [expect.stringContaining('Verification Key')] } },
    });
    expect(api.validate({ ...settings })).toMatchObject({ ok: true, settings });
    expect(api.validate({ api_key: 'k', webhook_public_key: '' })).toMatchObject({ ok: true });
  });
  test("of SendGrid's own libraries is believed, and read", () => {
    const request: WebhookRequest = {
      ...{ method: 'POST', query: {}, body: Buffer.from(VECTOR.body), receivedAt: new Date(1_600_112_510_000) },
      headers: {
        'x-twilio-email-event-webhook-signature': VECTOR.signature,
        'x-twilio-email-event-webhook-timestamp': '1600112502',
      },
    };
    expect(verify(request, { webhook_public_key: VECTOR.key })).toBe(true);
    expect(parse(request)).toEqual([
      {
        ...{ kind: 'bounced', bounceType: 'hard', description: 'Bounced Address' },
        ...{ id: 'ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA', messageId: 'LRzXl_NHStOGhQ4kofSm_A' },
      },
    ]);
  });
  test.each(['', 'null', '{}', '"text"', '[', '<html>', '42'])('that is %j is an error', (content) =>
    expect(() => parse(signedBody(content))).toThrow(),
  );
  test('that cannot be read in part is read in its other parts', () =>
    expect(
      parse(sendGridReport([null, 7, {}, { event: 5 }, [], { event: 'delivered', sg_event_id: 9 }, ...events])),
    ).toMatchObject([
      ...Array.from({ length: 6 }, () => ({ kind: 'ignored', name: 'not readable' })),
      { kind: 'delivered', id: 'e', messageId: 'm' },
    ]));
});

describe('an event', () => {
  const named = { sg_event_id: 'e', sg_message_id: 'm.recvd-1', mailwright_id: 'mail.k' };
  const eventOf = (event: object) => parse(sendGridReport([{ ...named, ...event }]));
  test.each([
    [{ event: 'bounce', type: 'bounce', bounce_classification: 'Mailbox Unavailable' }, 'unclear'],
    [{ event: 'bounce', type: 'bounce', bounce_classification: 'Invalid Address' }, 'hard'],
    [{ event: 'bounce', type: 'bounce', bounce_classification: 'Reputation' }, 'blocked'],
    [{ event: 'bounce', type: 'bounce' }, 'unclear'],
    [{ event: 'bounce', type: 'blocked', bounce_classification: 'Content' }, 'blocked'],
    [{ event: 'bounce', type: 'blocked', bounce_classification: 'Invalid Address' }, 'soft'],
    [{ event: 'bounce', type: 'blocked', bounce_classification: 'Unclassified', tls: 0 }, 'soft'],
    [{ event: 'bounce', type: 'blocked', status: '5.7.1' }, 'blocked'],
    [{ event: 'bounce' }, 'unclear'],
    [{ event: 'dropped', reason: 'Bounced Address' }, 'hard'],
    [{ event: 'dropped', reason: 'Invalid' }, 'hard'],
    [{ event: 'dropped', reason: 'Unsubscribed Address' }, 'blocked'],
    [{ event: 'dropped', reason: 'Spam Reporting Address' }, 'blocked'],
    [{ event: 'dropped' }, 'blocked'],
  ])('%j is a bounce of type %s', (event, bounceType) =>
    expect(eventOf(event)).toMatchObject([{ kind: 'bounced', bounceType, id: 'e', messageId: 'm', ownId: 'mail.k' }]),
  );
  test.each([...['processed', 'deferred', 'open', 'click', 'group_resubscribe'], 'account_status_change'])(
    '%s is ignored by its name',
    (event) => expect(eventOf({ event })).toEqual([{ kind: 'ignored', name: event }]),
  );
  test('with our id only is found by it', () =>
    expect(eventOf({ event: 'delivered', sg_message_id: '' })).toEqual([
      { kind: 'delivered', id: 'e', messageId: 'mail.k', ownId: 'mail.k' },
    ]));
  test('that names no message is ignored', () =>
    expect(eventOf({ event: 'bounce', sg_message_id: '', mailwright_id: null })).toEqual([
      { kind: 'ignored', name: 'bounce' },
    ]));
});

describe('by SMTP', () => {
  const smtp = driverOf(plugin, 'sendgrid-smtp');
  test('the host is that of the region, and the user name that of everybody', () => {
    expect(smtpSettingsOf(smtp, { password: 'SG.key' })).toMatchObject({
      ...{ host: 'smtp.sendgrid.net', port: 587, encryption: 'starttls', username: 'apikey' },
    });
    expect(smtpSettingsOf(smtp, { password: 'SG.key', region: 'eu', port: 465 })).toMatchObject({
      host: 'smtp.eu.sendgrid.net',
      encryption: 'tls',
    });
  });
  test('a message has instructions in short lines before everything else, and the id of the reply', async () => {
    const taken: string[] = [];
    const checked = smtp.validate({ password: 'SG.key' });
    if (!checked.ok) throw new Error('the settings are right');
    const preset = smtp.connect(checked.settings, {
      ...{ connectionsMax: 1, clientName: 'client.test', replyTimeoutMs: 5_000 },
      connectSmtp: () => ({
        capacity: 1,
        send: async ({ content, messageId }) => {
          taken.push(Buffer.from(content).toString('utf8'));
          return { runtimeMessageId: messageId, reply: '250 Ok: queued as 5C_CqYpbRUaOWzFzBfpJ6A' };
        },
        test: async () => ({ ok: true }),
        close: async () => undefined,
      }),
    });
    const result = await preset.send(wholeMessage());
    expect(result.runtimeMessageId).toBe('5C_CqYpbRUaOWzFzBfpJ6A');
    const header = /^X-SMTPAPI: ((?:[^\r]+\r\n )*[^\r]+)\r\nFrom: /.exec(taken[0] ?? '')?.[1] ?? '';
    expect(Math.max(...header.split('\r\n').map(({ length }) => length))).toBeLessThan(76);
    expect(JSON.parse(header)).toMatchObject({
      unique_args: { mailwright_id: 'mail.k1' },
      filters: { clicktrack: { settings: { enable: 0 } }, opentrack: { settings: { enable: 0 } } },
    });
  });
});

/** From the tests of SendGrid's libraries (MIT), such as sendgrid-nodejs. */
const VECTOR = {
  key: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==',
  signature: 'MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=',
  body: '[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n',
};
