/** Signatures as another library verifies them: messages of the composer, and messages that nobody would compose. */
import { fc } from '../../support/property.ts';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import type { DkimAlgorithm, DkimKey } from '../../../src/domain/sending/signing/dkim-identity.ts';
import { dkimRecord, makeDkimKey, openDkimKey } from '../../../src/domain/sending/signing/dkim-keys.ts';
import { signMessage } from '../../../src/domain/sending/signing/sign-message.ts';
import { messageSource, NOW, recipient } from '../content/message-factory.ts';

const SECRET = 'a secret of the installation, long enough';
const zone = new Map<string, string>();
const keys: DkimKey[] = [];

beforeAll(async () => {
  const algorithms: DkimAlgorithm[] = ['rsa-sha256', 'ed25519-sha256'];
  for (const algorithm of algorithms) {
    const selector = algorithm.slice(0, 3);
    const made = await makeDkimKey(SECRET, selector, algorithm);
    zone.set(`${selector}._domainkey.example.org`, dkimRecord({ algorithm, ...made }));
    keys.push({ selector, algorithm, privateKey: openDkimKey(SECRET, selector, made.sealedPrivateKey) });
  }
});

async function resolver(name: string): Promise<string[][]> {
  const value = zone.get(name);
  if (value === undefined) throw Object.assign(new Error('nothing there'), { code: 'ENOTFOUND' });
  return [[value]];
}

/** What the other library says of each signature. */
async function verdicts(message: Buffer): Promise<string[]> {
  const { results } = await dkimVerify(message, { resolver });
  return results.map(({ status }) => status.result);
}

const signed = (content: string | Buffer, by = keys) =>
  signMessage(typeof content === 'string' ? Buffer.from(content) : content, { domain: 'example.org', keys: by });

const HEAD = 'From: A <a@example.org>\r\nTo: b@example.net\r\nSubject: Hi\r\nDate: Sat, 21 Nov 2026 10:00:00 +0000\r\n';

describe('messages of the composer', () => {
  const words = [
    'Grüße',
    'こんにちは',
    '👩‍👩‍👧‍👦',
    ' ',
    '  ',
    '\t',
    '\n',
    '\n\n',
    'a\n \n',
    '.',
    '=',
    'x'.repeat(900),
    'From b',
    'ö'.repeat(90),
  ];
  const text = fc.array(fc.constantFrom(...words), { maxLength: 12 }).map((parts) => parts.join(''));

  test('both signatures are valid for whatever text and values', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, text, async (before, value, subject) => {
        const source = messageSource({
          html: `<p>${before}{FIRST_NAME}</p><a href="https://a.example/?q={CITY}">a</a> <a href="{UNSUBSCRIBE_URL}">stop</a>`,
          plain: before === '' ? null : `${before}{FIRST_NAME} {UNSUBSCRIBE_URL}`,
          // Whoever's name makes it longer than 998 characters gets no message.
          subject: `${subject.slice(0, 200)}${value.length > 700 ? '' : '{FIRST_NAME}'}`,
          replyTo: value === '' ? null : 'reply@example.org',
        });
        const message = await compileMessage(source, { now: () => NOW });
        const { content } = await message.fill(recipient({ FIRST_NAME: value, CITY: before }));
        const unsigned = Buffer.from(content);
        const whole = await signed(content);
        expect(await verdicts(whole)).toEqual(['pass', 'pass']);
        // The bytes it was given stand at its end, and were not changed.
        expect(whole.subarray(-content.length).equals(unsigned)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  test('both ways to unsubscribe and every From are under the signature, and no length', async () => {
    const message = await compileMessage(messageSource(), { now: () => NOW });
    const whole = (await signed((await message.fill(recipient())).content)).toString();
    const field = whole.slice(0, whole.indexOf('\r\nDKIM', 10)).replace(/\r\n\s/g, ' ');
    const names = /; h=([^;]+);/.exec(field)?.[1]?.split(/: ?/) ?? [];
    const count = (name: string) => names.filter((one) => one === name).length;
    // Each stands there once and is signed once more.
    for (const name of ['from', 'to', 'subject', 'date', 'message-id', 'list-unsubscribe', 'list-unsubscribe-post'])
      expect([name, count(name)]).toEqual([name, 2]);
    expect(count('list-id')).toBe(1);
    expect(field).toMatch(/; t=\d{10};/);
    expect(field).not.toMatch(/[; ]l=/);
    for (const line of whole.split('\r\n\r\n', 1)[0]?.split('\r\n') ?? []) expect(line.length).toBeLessThanOrEqual(78);
  });

  test.each([
    'From: evil@example.com',
    'List-Unsubscribe: <https://evil.example/>',
    'Subject: other',
    'Reply-To: evil@example.com',
  ])('adding "%s" breaks them', async (field) => {
    const whole = String(await signed(`${HEAD}List-Unsubscribe: <https://u.example/>\r\n\r\nHello\r\n`));
    for (const forged of [`${field}\r\n${whole}`, whole.replace('\r\nFrom:', `\r\n${field}\r\nFrom:`)])
      expect(await verdicts(Buffer.from(forged))).toEqual(['fail', 'fail']);
  });

  test('a changed body breaks them', async () => {
    const whole = await signed(`${HEAD}\r\nHello\r\n`);
    expect(await verdicts(Buffer.from(String(whole).replace('Hello', 'Hallo')))).toEqual(['neutral', 'neutral']);
  });
});

describe('messages that nobody would compose', () => {
  test.each([
    ['no body', HEAD],
    ['an empty body', `${HEAD}\r\n`],
    ['only empty lines', `${HEAD}\r\n\r\n\r\n\r\n`],
    ['lines of white space at the end', `${HEAD}\r\nHello\r\n  \r\n\t\r\n\r\n`],
    ['only white space', `${HEAD}\r\n \t \r\n`],
    ['white space without a line end', `${HEAD}\r\n  \t`],
    ['empty lines at the beginning', `${HEAD}\r\n\r\n\r\nHello\r\n`],
    ['no line end at the end', `${HEAD}\r\nHello`],
    ['white space at the end, and no line end', `${HEAD}\r\nHello \t `],
    ['a bare CR after white space at the end', `${HEAD}\r\nHello \r`],
    ['tabs and runs of spaces', `${HEAD}\r\na\tb  c \t d\r\n\te\r\n  f\r\n`],
    ['white space at the ends of lines', `${HEAD}\r\na \r\nb\t\r\nc \t\r\n\r\nd\r\n`],
    ['eight bits', `${HEAD}\r\nGrüße aus Köln  👩‍👩‍👧‍👦\r\n`],
    ['eight bits in the header', `Subject: Grüße  aus Köln\r\n${HEAD.replace('Subject: Hi\r\n', '')}\r\nHello\r\n`],
    ['a folded header with tabs', `${HEAD}References: <a@b>\r\n\t <c@d>\r\n  <e@f> \r\n\r\nHello\r\n`],
    ['a long header', `${HEAD}References: ${'<abcdefghijklmnop@example.net>\r\n '.repeat(200)}<z@z>\r\n\r\nHello\r\n`],
    ['an empty header', `${HEAD}Reply-To:\r\nCc: \r\n\r\nHello\r\n`],
    ['white space before the colon', `${HEAD}Reply-To : a@b.example\r\n\r\nHello\r\n`],
    [
      'several fields of a name',
      `${HEAD}References: <a>\r\nReferences: <b>\r\nCc: c@d.example\r\nCc: e@f.example\r\n\r\nHello\r\n`,
    ],
    ['letters of any case', `${HEAD.replace('From', 'FROM')}lIST-iD: x <y.example>\r\n\r\nHello\r\n`],
    ['a large body', `${HEAD}\r\n${'A line of a mail that goes on  for long.\t\r\n'.repeat(20_000)}`],
  ])('%s', async (_what, content) => {
    expect(await verdicts(await signed(content))).toEqual(['pass', 'pass']);
  });

  test('any bytes in a body', async () => {
    const line = fc.array(fc.constantFrom(' ', '\t', '  ', 'a', 'é', '.', '=', '', 'long'.repeat(200)), {
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 12 }), fc.boolean(), async (lines, hasEnd) => {
        const body = lines.map((parts) => parts.join('')).join('\r\n') + (hasEnd ? '\r\n' : '');
        const [rsa] = keys;
        expect(await verdicts(await signed(`${HEAD}\r\n${body}`, rsa ? [rsa] : []))).toEqual(['pass']);
      }),
      { numRuns: 200 },
    );
  });
});

test('a private key opens with the secret and the selector it was sealed for, and with no others', async () => {
  const { sealedPrivateKey } = await makeDkimKey(SECRET, 'one', 'ed25519-sha256');
  expect(openDkimKey(SECRET, 'one', sealedPrivateKey).type).toBe('private');
  expect(() => openDkimKey(SECRET, 'two', sealedPrivateKey)).toThrow();
  expect(() => openDkimKey('another secret of the installation', 'one', sealedPrivateKey)).toThrow();
});
