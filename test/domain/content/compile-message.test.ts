/** The compiled message against what a well-known composer makes of the same parts, both read by a well-known parser. */
import { fc } from '../../support/property.ts';
import MailComposer from 'nodemailer/lib/mail-composer';
import { describe, expect, test } from 'vitest';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import { messageSource, NOW, recipient, roundTrip } from './message-factory.ts';
import { parseEmail } from './parse-email.ts';

const SCRIPTS = [
  'Grüße aus Köln',
  'Привет, мир',
  'こんにちは世界',
  '你好，世界',
  'مرحبا بالعالم',
  'שלום עולם',
  'नमस्ते दुनिया',
  '👩‍👩‍👧‍👦 🇨🇭 é',
  'plain ASCII',
  'x'.repeat(1_200),
  'ö'.repeat(300),
  '.',
  '..',
  '.\n.',
  '= =3D =\n',
  'trailing   \nspace\t\n',
  'From here',
  '\t',
  '',
  '100% a=b&c',
  '-- \n',
  '\n\n\n',
];
const text = fc
  .array(fc.oneof(fc.constantFrom(...SCRIPTS), fc.string({ unit: 'grapheme' }), fc.constantFrom('\n', ' ', ' ')), {
    maxLength: 12,
  })
  .map((pieces) => pieces.join('').replace(/[{}<>\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u2028\u2029\ufdd0-\ufdef]/g, ''));
const value = text.map((raw) => raw.toWellFormed());

test('says the same as a general composer, whatever the text and the values', async () => {
  await fc.assert(
    fc.asyncProperty(text, text, value, value, async (before, after, first, city) => {
      const html = `<html><body><p title="{CITY}">${before}{FIRST_NAME}${after}</p>\n{CITY}{FIRST_NAME}</body></html>`;
      const plain = `a ${before}{FIRST_NAME}${after}{CITY}`;
      const subject = `${before.slice(0, 200)}{FIRST_NAME} {CITY}`;
      const source = messageSource({
        kind: 'transactional',
        html,
        plain,
        subject,
        trackClicks: false,
        from: { name: `N {CITY}`, email: 'n@example.org' },
      });
      const filled = await (
        await compileMessage(source, { now: () => NOW })
      ).fill(recipient({ FIRST_NAME: first, CITY: city }));
      expectSoundLines(filled.content);
      const put = (template: string, escape: (raw: string) => string) =>
        template.replace(/\{(FIRST_NAME|CITY)\}/g, (_tag, tag: string) =>
          escape(tag === 'CITY' ? city : first === '' ? 'friend' : first),
        );
      const expected = await composed({
        from: { name: oneLine(put('N {CITY}', String)).slice(0, 250), address: 'n@example.org' },
        to: 'ada@example.com',
        subject: oneLine(put(subject, String)).slice(0, 998),
        html: put(html, entities),
        text: put(plain, String),
      });
      const email = await parseEmail(filled.content);
      expect(email.html).toBe(expected.html);
      expect(email.text).toBe(expected.text);
      // Both cut at 998, at white space that is counted differently.
      expect(oneLine(email.subject ?? '').slice(0, 400)).toBe(oneLine(expected.subject ?? '').slice(0, 400));
      expect(oneLine(email.from?.name ?? '').slice(0, 100)).toBe(oneLine(expected.from?.name ?? '').slice(0, 100));
      expect(email.from?.address).toBe(expected.from?.address);
    }),
    { numRuns: 500 },
  );
});

test('carries every header once, in one order', async () => {
  const { raw, email } = await roundTrip({ replyTo: 'reply@example.org', trackOpens: true }, { FIRST_NAME: 'Zoë' });
  expect(email.headers.map(({ key }) => key)).toEqual([
    'from',
    'to',
    'subject',
    'date',
    'message-id',
    'reply-to',
    'list-unsubscribe',
    'list-unsubscribe-post',
    'list-id',
    'feedback-id',
    'precedence',
    'mime-version',
    'content-type',
  ]);
  expect(raw).toContain('Date: Wed, 04 Mar 2026 05:06:07 +0000\r\n');
  expect(raw).toContain(
    'List-Unsubscribe: <https://t.example.net/u/abc>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n',
  );
  expect(email.subject).toBe('Hello Zoë');
  expect(email.messageId).toBe('<a.d.mac@example.org>');
});

test('a transactional message says nothing of lists, and that a program wrote it', async () => {
  const { raw } = await roundTrip({ kind: 'transactional', html: '<p>Confirm</p>' });
  expect(raw).not.toMatch(/^(List-|Precedence|Feedback)/m);
  expect(raw).not.toContain('Unsubscribe');
  expect(raw).toContain('\r\nAuto-Submitted: auto-generated\r\n');
});

test('a transactional message to a member of the list says how to leave', async () => {
  const { raw } = await roundTrip({ kind: 'transactional', isToMember: true, html: '<p>Welcome</p>' });
  expect(raw).toMatch(/^List-Unsubscribe: <https:\/\/t\.example\.net\/u\/abc>\r\nList-Unsubscribe-Post: /m);
  expect(raw).toMatch(/^List-Id: .*<[\w.]+>\r\nAuto-Submitted: auto-generated\r\n/m);
  expect(raw).not.toMatch(/^(Feedback-ID|Precedence)/m);
});

test('shows a way out and an address when the author forgot', async () => {
  const { email } = await roundTrip({ html: '<html><body><p>Hi</p></body></html>' });
  expect(email.html).toContain('<a href="https://t.example.net/u/abc"');
  expect(email.html).toContain('Acme &lt;GmbH&gt;<br>Hauptstraße 1<br>10115 Berlin, Germany</div>\n</body></html>');
  expect(email.text).toContain('Unsubscribe: https://t.example.net/u/abc\n\nAcme <GmbH>');
});

describe('the postal address of the list', () => {
  const ADDRESS = 'Acme &lt;GmbH&gt;<br>Hauptstraße 1<br>10115 Berlin, Germany</div>';

  test.each(['<a href="{UNSUBSCRIBE_URL}">x</a>', '<a href="{{ unsubscribe_url }}">x</a>'])(
    'is added, and said, where the author wrote only %s',
    async (html) => {
      const { message, email } = await roundTrip({ html });
      expect(email.html).toMatch(/^<a href="https:\/\/t.example.net\/u\/abc">x<\/a><div [^>]*>Acme/);
      expect(email.html.endsWith(`${ADDRESS}\n`) || email.html.endsWith(ADDRESS)).toBe(true);
      expect(email.html.match(/u\/abc/g)).toHaveLength(1);
      expect(email.text).toMatch(
        /^x \[https:\/\/t.example.net\/u\/abc\]\n\n--\nAcme <GmbH>\nHauptstraße 1\n10115 Berlin, Germany\s*$/,
      );
      expect(message.warnings).toEqual(['The postal address of the list is not in html; it is added at the end.']);
    },
  );

  test.each([
    ['as words', 'ACME, Hauptstra&szlig;e <b>1</b>,\n10115&nbsp;Berlin'],
    ['as merge tags', '{CONTACT_NAME}, {CONTACT_ADDRESS_1}, {CONTACT_ZIP} {CONTACT_CITY}'],
    ['as Liquid', '{{ contact.company }} {{ contact.address_1 }} {{ CONTACT_CITY }}'],
  ])('is not added to a text that has it %s', async (_how, address) => {
    const { message, email } = await roundTrip({ html: `<a href="{UNSUBSCRIBE_URL}">x</a> ${address}` });
    expect(email.html).not.toContain('contentinfo');
    expect(email.text).not.toContain('--');
    expect(message.warnings).toEqual([]);
  });

  test('is added to the part that lacks it, and once to a text without a link', async () => {
    const both = { html: '<p>{UNSUBSCRIBE_URL} Hauptstraße 1, Berlin</p>', plain: 'Leave: {UNSUBSCRIBE_URL}' };
    const { message, email } = await roundTrip(both);
    expect(email.html).not.toContain('contentinfo');
    expect(email.text).toContain('\n\n--\nAcme <GmbH>\nHauptstraße 1\n');
    expect(message.warnings).toEqual(['The postal address of the list is not in plain; it is added at the end.']);
    const withoutLink = await roundTrip({ html: '<p>Visit us: Hauptstraße 1, Berlin</p>' });
    expect(withoutLink.email.html.match(/Hauptstraße 1/g)).toHaveLength(1);
    expect(withoutLink.email.html).toContain('>Unsubscribe</a>');
    expect(withoutLink.message.warnings).toEqual([]);
  });

  test('is of nobody, where the list has none, and not in transactional mail', async () => {
    const { list } = messageSource();
    const contact = { ...list.contact, address1: '', city: '' };
    const html = '<a href="{UNSUBSCRIBE_URL}">x</a>';
    const none = await roundTrip({ html, list: { ...list, contact } });
    expect(none.email.html).toBe('<a href="https://t.example.net/u/abc">x</a>');
    const transactional = await roundTrip({ kind: 'transactional', html });
    expect(transactional.email.html).toBe('<a href="https://t.example.net/u/abc">x</a>');
  });
});

test('puts the pixel at the end of the body, and not into the web view', async () => {
  const { message, email } = await roundTrip({ trackOpens: true });
  expect(email.html).toMatch(/<img src="https:\/\/t\.example\.net\/o\/abc"[^>]*><\/body><\/html>$/);
  expect((await message.texts(recipient())).html).not.toContain('/o/abc');
});

test('fills tags of every kind, and leaves what is none', async () => {
  const html =
    '{EMAIL}|{SUBSCRIBER_EMAIL}|{SUBSCRIBER_UID}|{SUBSCRIBER_CITY}|{CAMPAIGN_NAME}|{LIST_NAME}|{CONTACT_NAME}|' +
    '{CURRENT_YEAR}|{CURRENT_DATE}|{NOPE}|{city}|{UNSUBSCRIBE_URL}|{WEB_VIEW_URL}|{UPDATE_PROFILE_URL}|{CONTACT_ADDRESS_1}|{CONTACT_CITY}';
  const { message, email } = await roundTrip({ html }, { CITY: `"<b>'&` });
  expect(email.html).toBe(
    'ada@example.com|ada@example.com|d000000000001|&quot;&lt;b&gt;&#39;&amp;|Spring|Friends &amp; Family|Acme &lt;GmbH&gt;|' +
      '2026|2026-03-04|{NOPE}|{city}|https://t.example.net/u/abc|https://t.example.net/v/abc|https://t.example.net/p/abc|Hauptstraße 1|Berlin',
  );
  expect(message.warnings).toEqual([
    '"{NOPE}" in html is neither a field of the list nor a merge tag; it is left as it is.',
  ]);
});

test('leaves an address that is none as it is written, and warns of it', async () => {
  const { message, email } = await roundTrip({ html: '<a href="https:// /offer">a</a> <a href="http://[x/">b</a>' });
  expect(email.html).toContain('href="http://[x/"');
  expect(message.links).toEqual([]);
  expect(message.warnings).toEqual([
    'The address "https://%20/offer" is no web address, so its link does not work.',
    'The address "http://[x/" is no web address, so its link does not work.',
  ]);
});

test('a missing, empty or null value gives the default', async () => {
  for (const fields of [{}, { FIRST_NAME: '' }, { FIRST_NAME: null }]) {
    expect((await roundTrip({}, fields)).email.subject).toBe('Hello friend');
  }
  expect((await roundTrip({}, { FIRST_NAME: 0 })).email.subject).toBe('Hello 0');
});

test('plain text alone needs no multipart', async () => {
  const { raw, email, message } = await roundTrip({
    html: null,
    plain: 'Hi {FIRST_NAME}\n.\n..\n{UNSUBSCRIBE_URL}',
    kind: 'transactional',
  });
  expect(raw).toContain('Content-Type: text/plain; charset=utf-8\r\n');
  expect(raw).not.toContain('multipart');
  expect(email.text).toBe('Hi friend\n.\n..\nhttps://t.example.net/u/abc');
  expect(await message.texts(recipient({ FIRST_NAME: '<b>' }))).toMatchObject({
    html: undefined,
    plain: expect.stringContaining('Hi <b>'),
  });
});

test('names every fault of the source at once', async () => {
  const broken = {
    subject: 'x'.repeat(999),
    html: '',
    plain: ' ',
    from: { name: '', email: 'a@b\r\nBcc: c@d' },
    replyTo: 'x',
  };
  await expect(compileMessage(messageSource(broken))).rejects.toThrow(
    expect.objectContaining({
      fields: expect.objectContaining({
        subject: expect.anything(),
        html: expect.anything(),
        fromEmail: expect.anything(),
        replyTo: expect.anything(),
      }),
    }),
  );
});

test('an address beyond ASCII says what server it needs', async () => {
  const html = '<p>Hauptstraße 1, Berlin {UNSUBSCRIBE_URL}</p>';
  const message = await compileMessage(messageSource({ html }));
  const idn = await message.fill(recipient({}, { email: 'ada@münchen.example' }));
  expect(idn).toMatchObject({ needsSmtpUtf8: false, envelope: { to: 'ada@xn--mnchen-3ya.example' } });
  const local = await message.fill(recipient({}, { email: 'jürgen@example.com' }));
  expect(local.needsSmtpUtf8).toBe(true);
  expect(local.content.toString('utf8')).toContain('To: jürgen@example.com\r\n');
  expect(message.warnings).toEqual([]);
  const house = await compileMessage(messageSource({ html, replyTo: 'grüße@example.com' }));
  expect(house.warnings).toEqual([expect.stringMatching(/reply to .* SMTPUTF8/)]);
  expect(await house.fill(recipient())).toMatchObject({ needsSmtpUtf8: true });
});

function expectSoundLines(content: Buffer): void {
  const raw = content.toString('latin1');
  expect(raw).toMatch(/\r\n$/);
  expect(raw.replaceAll('\r\n', '')).toMatch(/^[\t -~]*$/);
  const bodyStart = raw.indexOf('\r\n\r\n');
  for (const line of raw.slice(0, bodyStart).split('\r\n')) expect(line.length).toBeLessThanOrEqual(78);
  for (const line of raw.slice(bodyStart).split('\r\n')) expect(line.length).toBeLessThanOrEqual(76);
}

async function composed(parts: ConstructorParameters<typeof MailComposer>[0]) {
  return parseEmail(await new MailComposer(parts).compile().build());
}

function oneLine(raw: string): string {
  return raw.replace(/\s+/g, ' ').trim();
}

function entities(raw: string): string {
  const names = new Map([
    ['&', 'amp'],
    ['<', 'lt'],
    ['>', 'gt'],
    ['"', 'quot'],
    ["'", '#39'],
  ]);
  return raw.replace(/[&<>"']/g, (character) => `&${names.get(character)};`);
}
