/** What arrives at Elastic Email, what the test of its settings says, and which of its webhooks are believed. */
import { describe, expect, test } from 'vitest';
import { plugin } from '../../plugins/mailwright/elasticemail/index.ts';
import { openOutboundPool } from '../../src/lib/outbound-pool.ts';
import { afterFile } from '../support/after-file.ts';
import { driverOf } from '../support/drivers-of-plugin.ts';
import {
  ELASTIC_WEBHOOK_KEY,
  elasticBody,
  elasticError,
  elasticReport,
  startElasticVendor,
  type ElasticBody,
} from '../support/elasticemail-vendor.ts';
import { TINY_PNG } from '../support/tiny-png.ts';
import { driverFor, NOTES, UNSUBSCRIBE, wholeMessage, type MessageTexts } from '../support/whole-message.ts';

const registration = driverOf(plugin, 'elasticemail-api');
const vendor = await startElasticVendor();
const driver = driverFor(registration, vendor);
afterFile(async () => {
  await driver.close();
  await vendor.close();
});

/** Sends it; the request, and the mail as it arrives. */
async function arrived(texts: MessageTexts = {}): Promise<{ body: ElasticBody; content: string }> {
  await driver.send(wholeMessage(texts));
  const body = elasticBody.parse(JSON.parse(vendor.requests().at(-1)?.body.toString() ?? ''));
  return { body, content: vendor.taken().at(-1)?.content ?? '' };
}

describe('a message', () => {
  test('has its addresses, texts, headers and own id, and is not tracked twice', async () => {
    const { body } = await arrived();
    expect(body).toMatchObject({
      Recipients: { To: ['Ann <ann@there.test>'] },
      Content: {
        ...{
          From: 'Jürgen <news@house.test>',
          ReplyTo: 'Desk <desk@house.test>',
          Subject: 'News',
          Postback: 'mail.k1',
        },
        Body: [
          { ContentType: 'HTML', Charset: 'utf-8', Content: expect.stringContaining('<p>Hello</p>') },
          { ContentType: 'PlainText', Charset: 'utf-8', Content: expect.stringContaining('Hello') },
        ],
        Headers: {
          ...{ 'List-Unsubscribe': UNSUBSCRIBE, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
          ...{ 'Feedback-ID': 'c1:k1:l1:mailwright', Precedence: 'bulk' },
        },
      },
      Options: { TrackOpens: false, TrackClicks: false },
    });
    expect(Object.keys(body.Content.Headers)).not.toContain('Message-ID');
    expect(body.Content.Merge).toBeUndefined();
  });

  test('has the merge fields of Elastic Email as they were written', async () => {
    const text = 'Write {firstname}, {{name}}, {unsubscribe:link} and {';
    const html = `<style>p{color:red}</style><p title="{t}">${text}</p>`;
    const { content } = await arrived({ subject: 'Use {firstname}', text, html });
    expect(content).toContain('Subject: Use {firstname}\r\n');
    expect(content).toContain(`\r\n${text}`);
    expect(content.replaceAll('&#123;', '{')).toContain(`<p title="{t}">${text}</p>`);
    expect(content).toContain('<style>p{ color:red}</style>');
  });

  test('has its attachments', async () => {
    const { body } = await arrived();
    expect(body.Content.Attachments).toEqual([
      {
        ...{ Name: 'logo.png', ContentType: 'image/png', Size: TINY_PNG.length },
        BinaryContent: Buffer.from(TINY_PNG).toString('base64'),
      },
      {
        ...{ Name: 'notes.txt', ContentType: 'text/plain', Size: Buffer.byteLength(NOTES) },
        BinaryContent: Buffer.from(NOTES).toString('base64'),
      },
    ]);
  });

  test.each([
    ['ann@there.test', 'ann@there.test'],
    ['"Smith, Ann" <ann@there.test>', '"Smith, Ann" <ann@there.test>'],
  ])('names its recipient %s', async (to, expected) => {
    expect((await arrived({ to })).body.Recipients.To).toEqual([expected]);
  });
});

describe('the test of the settings', () => {
  test.each([
    [elasticError(403, 'Access Denied.'), 'ViewSettings'],
    [elasticError(400, 'Your account is suspended.'), 'Ask its support'],
    [elasticError(403, 'Not enough credits'), 'no mails left'],
    [elasticError(500, 'x'), 'Elastic Email answered 500'],
    [{ status: 200, body: {} }, 'is the endpoint right?'],
  ])('says what is wrong: %j', async (answer, message) => {
    vendor.domainsAre(answer);
    expect(await driver.test()).toMatchObject({ ok: false, message: expect.stringContaining(message) });
  });

  test('says that the key is wrong', async () => {
    const other = driverFor(registration, vendor, { api_key: 'other' });
    expect(await other.test()).toMatchObject({ ok: false, message: expect.stringContaining('refused the API key') });
    await other.close();
  });
});

describe('a webhook', () => {
  const { webhook } = registration;
  if (!webhook) throw new Error('There is none.');
  const key = { webhook_key: ELASTIC_WEBHOOK_KEY };
  const sent = { status: 'Sent', messageid: 'm1', to: 'ann@there.test' };

  test('comes by GET or POST, and is believed by its secret address only', () => {
    expect(webhook.methods).toEqual(['GET', 'POST']);
    expect(webhook.address?.('https://h.test/w', key)).toBe(`https://h.test/w?key=${ELASTIC_WEBHOOK_KEY}`);
    for (const request of [elasticReport(sent), elasticReport({}, { posted: sent })]) {
      expect(webhook.verify(request, key)).toBe(true);
      expect(webhook.verify(request, { webhook_key: ELASTIC_WEBHOOK_KEY.replace('f', '0') })).toBe(false);
      expect(webhook.verify(request, { ...key, webhook_password: 'p' })).toBe(false);
      expect(webhook.verify(request, {})).toBe(false);
    }
  });

  test('without the id of the mail is known by that of the transaction, and a foreign postback is no id of ours', async () => {
    const report = elasticReport({ status: 'Sent', transaction: 't1', postback: 'coupon=1;x' });
    expect(await webhook.parse(report, key)).toMatchObject([{ messageId: 't1', ownId: undefined }]);
  });

  test('of a new bounce is another event, a repeated one the same', async () => {
    const idOf = async (more: object) => {
      const [event] = await webhook.parse(elasticReport({ ...sent, ...more }), key);
      return event && 'id' in event ? event.id : undefined;
    };
    expect(await idOf({ date: 'a' })).toBe(await idOf({ date: 'a' }));
    expect(await idOf({ date: 'a' })).not.toBe(await idOf({ date: 'b' }));
    expect(await idOf({ status: 'Error' })).not.toBe(await idOf({}));
  });

  test.each(['{', 'null', '7', '[]', '"x"'])('with the body %j cannot be read', (posted) =>
    expect(async () => webhook.parse(elasticReport({}, { posted }), key)).rejects.toThrow(),
  );
});

test('the domains of the account are shown, added and checked', async () => {
  const asked = await startElasticVendor();
  const checked = registration.validate(asked.settings);
  if (!checked.ok) throw new Error('the settings are right');
  const domains = registration.identities?.(checked.settings, {
    ...{ connectionsMax: 1, clientName: 'client.test', replyTimeoutMs: 60_000, openHttp: openOutboundPool },
  });
  const verified = { isVerified: true, status: 'verified', records: [] };
  expect(await domains?.list()).toEqual([{ kind: 'domain', name: 'house.test', ...verified }]);
  const wanted = { kind: 'domain', name: 'new.test' } as const;
  const missing = (what: string) => ({ ...wanted, isVerified: false, status: `missing: ${what}`, records: [] });
  expect(await domains?.add(wanted)).toEqual(missing('SPF, DKIM'));
  await expect(domains?.add(wanted)).rejects.toThrow('Elastic Email answered 400');
  expect(await domains?.check(wanted)).toEqual(missing('DKIM'));
  expect(await domains?.check(wanted)).toEqual({ ...wanted, ...verified });
  await expect(domains?.check({ ...wanted, name: 'other.test' })).rejects.toThrow('Elastic Email answered 404');
  // It tells nothing of addresses: these do not stop a campaign.
  expect(domains?.lists).toEqual(['domain']);
  const ann = { kind: 'email', name: 'ann@house.test' } as const;
  await expect(domains?.add(ann)).rejects.toThrow('domains only');
  await expect(domains?.check(ann)).rejects.toThrow('does not tell which addresses are verified');
  asked.domainsAre({ status: 200, body: '<html>' });
  await expect(domains?.list()).rejects.toThrow('answered something else');
  asked.domainsAre(elasticError(403, 'Access denied'));
  await expect(domains?.list()).rejects.toThrow('Access denied');
  await asked.close();
});
