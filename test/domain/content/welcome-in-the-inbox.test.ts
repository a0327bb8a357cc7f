/** B1: 2,000 marketing mails of every make, judged by rules that know nothing of the product. */
import { fc } from '../../support/property.ts';
import { expect, test } from 'vitest';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import type { MessageSource } from '../../../src/domain/content/message.ts';
import { ValidationError } from '../../../src/lib/errors.ts';
import { brokenRules, mailOf, MAIL_RULES } from './mail-rules.ts';
import { filledOrTooLong, links, messageSource, recipient } from './message-factory.ts';

const TEXTS = [
  'Spring sale',
  'Grüße aus Köln',
  'こんにちは世界',
  'مرحبا بالعالم',
  '👩‍👩‍👧‍👦 🇨🇭',
  'x'.repeat(1_200),
  'word '.repeat(300),
  'ö'.repeat(600),
  'trailing   ',
  '.\n.\r\n..\r.',
  '=?UTF-8?Q?=0D=0ABcc:_evil@evil.test?=',
  'a\r\nBcc: evil@evil.test',
  '"quotes", <angles>, (comments); group: x@y;',
  '=3D = \t',
  '',
  '\0\x07\x1b',
  '\u0085\u2028\u2029',
];
const text = fc
  .array(fc.oneof(fc.constantFrom(...TEXTS), fc.string({ unit: 'grapheme' })), { maxLength: 4 })
  .map((parts) => parts.join(' ').replace(/[{}]/g, ''));
const htmlOf = (words: string) =>
  fc.constantFrom(
    `<html><body><p>${words}</p><a href="https://shop.example/?q=${encodeURIComponent(words.slice(0, 50).toWellFormed())}">go</a></body></html>`,
    `<p>${words} {FIRST_NAME} {CITY}`,
    `<table><tr><td style="width:${'1'.repeat(3_000)}">${words}</td></tr></table><a href='{UNSUBSCRIBE_URL}'>stop</a>`,
    `${words}<!-- open`,
    `<p>{% if subscriber.city == "" %}a{% else %}{{ subscriber.city }}{% endif %}${words}</p>`,
  );
const source = fc
  .record({
    name: text,
    subject: text,
    words: text,
    list: text,
    hasReply: fc.boolean(),
    pixel: fc.boolean(),
    click: fc.boolean(),
    kind: fc.constantFrom('html', 'both', 'plain'),
    file: fc.option(text),
  })
  .chain((given) => htmlOf(given.words).map((html) => ({ ...given, html })));

function messageOf(given: typeof source extends fc.Arbitrary<infer T> ? T : never): MessageSource {
  const base = messageSource();
  return {
    ...base,
    from: { name: given.name, email: 'news@example.org' },
    replyTo: given.hasReply ? 'reply@example.org' : null,
    list: { ...base.list, name: given.list },
    subject: `${given.subject.slice(0, 400)} {FIRST_NAME}`,
    html: given.kind === 'plain' ? null : given.html,
    plain: given.kind === 'html' ? null : `${given.words} at https://shop.example/ {CITY}`,
    trackOpens: given.pixel,
    trackClicks: given.click,
    ...(given.file === null
      ? {}
      : {
          files: {
            attachments: [
              { name: `${given.file.slice(0, 100)}.pdf`, type: 'application/pdf', bytes: Buffer.from(given.words) },
            ],
            images: [],
          },
        }),
  };
}

test(`2,000 mails satisfy ${Object.keys(MAIL_RULES).length} rules`, async () => {
  expect(Object.keys(MAIL_RULES).length).toBeGreaterThanOrEqual(25);
  let mails = 0;
  await fc.assert(
    fc.asyncProperty(source, text, text, async (given, first, city) => {
      const message = await compileMessage(messageOf(given)).catch((error: unknown) => {
        if (!(error instanceof ValidationError)) throw error;
      });
      for (const values of [{ FIRST_NAME: first, CITY: city }, {}]) {
        const filled = message && (await filledOrTooLong(message, values));
        if (!filled) continue;
        mails += 1;
        expect(brokenRules(mailOf(filled.content, 'example.org'))).toEqual([]);
        expect(filled.envelope).toEqual({ from: 'news@example.org', to: 'ada@example.com' });
      }
    }),
    { numRuns: 1_100 },
  );
  expect(mails).toBeGreaterThanOrEqual(2_000);
});

test('each rule can be broken', async () => {
  const { content } = await (
    await compileMessage(messageSource({ trackOpens: true, replyTo: 'r@example.org' }))
  ).fill(recipient());
  const good = Buffer.from(content).toString('latin1');
  expect(brokenRules(mailOf(Buffer.from(good, 'latin1'), 'example.org'))).toEqual([]);
  const breakers: Record<string, [from: string | RegExp, to: string]> = {
    'lines end in CRLF': ['\r\nTo:', '\nTo:'],
    'no line is longer than 998 bytes': ['<p>', `<p>${'x'.repeat(1_000)}`],
    'header lines are within 78 but for one long word': [/Subject: [^\r]*/, `Subject: ${'word '.repeat(30)}end`],
    'headers are ASCII, or the mail is for SMTPUTF8': [/Subject: [^\r]*/, 'Subject: Gr\u00fc\u00dfe'],
    'no NUL and no other control': ['<p>', '<p>\0'],
    'header names are well-formed': ['Subject:', 'Sub ject:'],
    'no folded line is empty': [/Subject: ([^\r]*)/, 'Subject: $1\r\n \r\n x'],
    'single headers stand once': ['\r\nTo:', '\r\nTo: x@y.example\r\nTo:'],
    'required headers are there': [/Message-ID: [^\r]*\r\n/, ''],
    'one address in From': ['<news@example.org>', '<news@example.org>, <x@example.org>'],
    'one address in To': ['ada@example.com', 'ada@example.com, bob@example.com'],
    'From is of the signing domain': ['<news@example.org>', '<news@example.net>'],
    'no Bcc and no Cc': ['\r\nTo:', '\r\nBcc: x@y.example\r\nTo:'],
    'Date is valid and sane': [/Date: [^\r]*/, 'Date: yesterday'],
    'Message-ID is valid': [/Message-ID: [^\r]*/, 'Message-ID: none'],
    'encoded words are whole': [/Subject: [^\r]*/, 'Subject: =?UTF-8?Q?broken'],
    'MIME-Version is 1.0': ['MIME-Version: 1.0', 'MIME-Version: 2.0'],
    'every text declares its charset': ['text/plain; charset=utf-8', 'text/plain'],
    'every part names its transfer encoding': ['Content-Transfer-Encoding: quoted-printable\r\n', ''],
    'boundaries are opened and closed': [/--\r\n$/, '\r\n'],
    'there is a plain text': ['text/plain', 'text/other'],
    'List-Unsubscribe is an https address, and maybe a mail address behind it': [
      '<https://t.example.net/u/abc>',
      '<http://t.example.net/u/abc>',
    ],
    'List-Unsubscribe-Post is One-Click': ['=One-Click', '=Two-Clicks'],
    'List-Id is a name in angle brackets': [/List-Id: [^\r]*/, 'List-Id: friends'],
    'Feedback-ID has four parts and a sender of 5 to 15': [/Feedback-ID: [^\r]*/, 'Feedback-ID: a:b'],
    'Precedence is bulk': ['Precedence: bulk', 'Precedence: first-class'],
    'the way out is visible in every text': [/Unsubscribe: [^\r]*|https:\/\/t\.example\.net\/u\/abc(?!>)/g, 'x'],
    'nothing tells of the software but the feedback id': ['\r\nTo:', '\r\nX-Mailer: x\r\nTo:'],
  };
  expect(Object.keys(breakers).toSorted()).toEqual(Object.keys(MAIL_RULES).toSorted());
  for (const [name, [from, to]] of Object.entries(breakers)) {
    const broken = good.replace(from, to);
    expect(broken, name).not.toBe(good);
    expect(brokenRules(mailOf(Buffer.from(broken, 'latin1'), 'example.org')), name).toContain(name);
  }
  expect(links.unsubscribe()).toContain('/u/');
});
