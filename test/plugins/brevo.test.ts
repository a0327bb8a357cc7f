/** What arrives at Brevo, and what the test of its settings says. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { plugin } from '../../plugins/mailwright/brevo/index.ts';
import { openOutboundPool } from '../../src/lib/outbound-pool.ts';
import type { SendingDriver } from '../../src/plugin-api/index.ts';
import { afterFile } from '../support/after-file.ts';
import { BREVO_ACCOUNT, brevoBody, startBrevoVendor, type BrevoBody } from '../support/brevo-vendor.ts';
import { driverOf } from '../support/drivers-of-plugin.ts';

const registration = driverOf(plugin, 'brevo-api');
const vendor = await startBrevoVendor();
const driver = driverWith({});
afterFile(async () => {
  await driver.close();
  await vendor.close();
});

function driverWith(settings: object): SendingDriver {
  const checked = registration.validate({ ...vendor.settings, ...settings });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const options = { connectionsMax: 2, clientName: 'client.test', replyTimeoutMs: 60_000, openHttp: openOutboundPool };
  return registration.connect(checked.settings, options);
}

const HEAD =
  'From: House <news@house.test>\r\nTo: Ann <p1@there.test>\r\nMessage-ID: <own@house.test>\r\nMIME-Version: 1.0\r\n';
const PLAIN = 'Content-Type: text/plain; charset=utf-8\r\n\r\n';

/** Sends it; the request, and the mail as it arrives. */
async function arrived(content: string): Promise<{ body: BrevoBody; content: string }> {
  await driver.send({
    envelope: { from: 'bounce@house.test', to: 'p1@there.test' },
    content: Buffer.from(content),
    messageId: '<own@house.test>',
    idempotencyKey: 'mail.k1',
    needsSmtpUtf8: false,
  });
  const body = brevoBody.parse(JSON.parse(vendor.requests().at(-1)?.body.toString() ?? ''));
  return { body, content: vendor.taken().at(-1)?.content ?? '' };
}

describe('a message', () => {
  test('has its sender, recipient, text, own id and the headers that matter', async () => {
    const { body } = await arrived(
      `${HEAD}Subject: Hello\r\nReply-To: Desk <desk@house.test>\r\nList-Unsubscribe: <https://house.test/u/1>,\r\n <mailto:u@house.test>\r\n` +
        'List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\nFeedback-ID: c1:house\r\nPrecedence: bulk\r\n' +
        `List-Id: =?utf-8?B?R8OkcnRlbg==?= <l1.house.test>\r\n${PLAIN}Hi Ann <3\r\n`,
    );
    expect(body).toMatchObject({
      ...{ sender: { name: 'House', email: 'news@house.test' }, to: [{ name: 'Ann', email: 'p1@there.test' }] },
      ...{
        replyTo: { name: 'Desk', email: 'desk@house.test' },
        subject: 'Hello',
        textContent: expect.stringMatching(/^Hi Ann <3\r?\n$/),
      },
    });
    expect(body.htmlContent).toContain('Hi Ann &lt;3');
    expect(body.headers).toEqual({
      'List-Unsubscribe': '<https://house.test/u/1>, <mailto:u@house.test>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Feedback-ID': 'c1:house',
      Precedence: 'bulk',
      'List-Id': '<l1.house.test>',
      'X-Mailin-custom': 'mailwright_id:mail.k1',
    });
    expect(body.params).toBeUndefined();
  });

  test('has the template syntax of Brevo as it was written', async () => {
    const text = 'Write {{ contact.NAME }}, {% if x %}, {# note #}, {{{raw}}}, {one} and {';
    const { content, body } = await arrived(
      `${HEAD}Subject: Use {{x}} {%y%}\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n${PLAIN}${text}\r\n` +
        `--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<style>@media print{#a{color:red}}</style><p title="{{t}}">${text}</p>\r\n--b--\r\n`,
    );
    expect(content).toContain('Subject: Use {{x}} {%y%}\r\n');
    expect(content).toContain(`\r\n${text}`);
    expect(content.replaceAll('&#123;', '{')).toContain(`<p title="{{t}}">${text}</p>`);
    expect(body.htmlContent).toContain('<style>@media print{ #a{color:red}}</style>');
  });

  test('has its attachments, with names that Brevo takes', async () => {
    const file = (type: string, name: string, more = '') =>
      `--b\r\nContent-Type: ${type}\r\nContent-Disposition: ${name}\r\n${more}Content-Transfer-Encoding: base64\r\n\r\nAQID\r\n`;
    const { body } = await arrived(
      `${HEAD}Subject: Files\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${PLAIN}See\r\n` +
        file('application/pdf', `attachment; filename*=utf-8''Pl%C3%A4ne.pdf`) +
        file('image/png', 'inline', 'Content-ID: <logo@house.test>\r\n') +
        file('text/csv', 'attachment; filename=list') +
        '--b--\r\n',
    );
    expect(body.attachment).toEqual([
      { name: 'Plane.pdf', content: 'AQID' },
      { name: 'attachment.png', content: 'AQID' },
      { name: 'list.csv', content: 'AQID' },
    ]);
  });

  test.each([
    ['Gärten & Co.', '=?utf-8?B?R8OkcnRlbiAmIENvLg==?=', 'Gärten & Co'],
    ['Gärten', 'Gärten', 'Gärten'],
    ['House, Inc.', 'House, Inc.', 'House, Inc.'],
    [`Ä, ${'x'.repeat(80)}`, `Ä ${'x'.repeat(68)}`, `Ä ${'x'.repeat(68)}`],
  ])('has the name %s of its sender as Brevo needs it', async (name, sender, replyTo) => {
    const word = `=?utf-8?B?${Buffer.from(name).toString('base64')}?=`;
    const { body } = await arrived(
      `From: ${word} <news@house.test>\r\nTo: p1@there.test\r\nReply-To: ${word} <desk@house.test>\r\nSubject: x\r\n${PLAIN}x\r\n`,
    );
    expect(body.sender.name).toBe(sender);
    expect(body.replyTo?.name).toBe(replyTo);
    expect(body.to).toEqual([{ email: 'p1@there.test' }]);
  });
});

describe('the test of the settings', () => {
  const limits = [{ type: 'subscription', credits: 0, creditsType: 'sendLimit' }];
  const sms = { type: 'sms', credits: 5, creditsType: 'sendLimit' };
  beforeEach(() => vendor.accountIs(BREVO_ACCOUNT));

  test.each([
    [{ plan: [...limits, sms] }, 'no mails left'],
    [{ ...BREVO_ACCOUNT, relay: { enabled: false } }, 'activate it'],
    [{ plan: 'x' }, 'is the endpoint right?'],
  ])('says what is wrong with the account %j', async (account, message) => {
    vendor.accountIs(account);
    expect(await driver.test()).toMatchObject({ ok: false, message: expect.stringContaining(message) });
  });

  test('takes an account whose plan has no limit', async () => {
    vendor.accountIs({ plan: [{ type: 'subscription', credits: 0, creditsType: 'unlimited' }] });
    expect(await driver.test()).toEqual({ ok: true });
  });

  test('says that the key is wrong', async () => {
    const other = driverWith({ api_key: 'xkeysib-other' });
    expect(await other.test()).toMatchObject({ ok: false, message: expect.stringContaining('refused the API key') });
    await other.close();
  });

  test('says that an SMTP key is none for this type', () => {
    expect(registration.validate({ api_key: 'xsmtpsib-1' })).toMatchObject({
      errors: { api_key: [expect.stringContaining('SMTP key')] },
    });
  });
});

describe('the senders of the account', () => {
  const checked = registration.validate(vendor.settings);
  if (!checked.ok) throw new Error('the settings are right');
  const senders = registration.identities?.(checked.settings, {
    ...{ connectionsMax: 1, clientName: 'client.test', replyTimeoutMs: 60_000, openHttp: openOutboundPool },
  });
  const ann = { kind: 'email', name: 'ann@house.test', isVerified: true, status: 'verified', records: [] } as const;
  afterEach(() => vendor.answerOthersBy(undefined));

  test('are its domains and addresses', async () => {
    const house = { kind: 'domain', name: 'house.test', isVerified: true, status: 'verified', records: [] };
    expect(await senders?.list()).toEqual([house, ann]);
    expect(await senders?.check({ kind: 'email', name: 'Ann@house.test' })).toEqual(ann);
  });

  test('may be a domain that is added, and is verified when its records are there', async () => {
    const wanted = { kind: 'domain', name: 'new.test' } as const;
    const records = (isFound: boolean) => [
      { type: 'TXT', name: 'mail._domainkey.new.test', value: 'k=rsa;p=MIGfMA0', isFound },
      { type: 'TXT', name: 'new.test', value: 'brevo-code:1a2b', isFound },
      { type: 'TXT', name: '_dmarc.new.test', value: 'v=DMARC1; p=none', isFound },
    ];
    const pending = { ...wanted, isVerified: false, status: 'pending', records: records(false) };
    expect(await senders?.add(wanted)).toEqual(pending);
    await expect(senders?.add(wanted)).rejects.toThrow('Brevo answered 400');
    expect(await senders?.check(wanted)).toEqual(pending);
    const verified = { ...wanted, isVerified: true, status: 'verified', records: records(true) };
    expect(await senders?.check(wanted)).toEqual(verified);
    await expect(senders?.check({ ...wanted, name: 'other.test' })).rejects.toThrow('Brevo answered 404');
  });

  test('may be an address that is added, and waits for its reader', async () => {
    const wanted = { kind: 'email', name: 'bob@else.test' } as const;
    const pending = { ...wanted, isVerified: false, status: 'pending', records: [] };
    expect(await senders?.add(wanted)).toEqual(pending);
    expect(await senders?.check(wanted)).toEqual(pending);
    const ofHouse = { kind: 'email', name: 'news@house.test' } as const;
    expect(await senders?.add(ofHouse)).toEqual({ ...ann, ...ofHouse });
    await expect(senders?.check({ ...wanted, name: 'cid@else.test' })).rejects.toThrow('does not know cid@else.test');
    expect(senders?.addWithMail).toBeUndefined();
  });

  test.each([[{ status: 200, body: '<html>' }], [{ status: 200, body: { domains: 'x' } }]])(
    'are not known after the answer %j',
    async (answer) => {
      vendor.answerOthersBy(() => answer);
      await expect(senders?.list()).rejects.toThrow('Brevo answered something else');
    },
  );
});
