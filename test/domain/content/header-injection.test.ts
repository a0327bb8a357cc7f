/** B9: no value, of a recipient or of the author, can add a header, a recipient or a line. */
import { fc } from '../../support/property.ts';
import { expect, test } from 'vitest';
import { ValidationError } from '../../../src/lib/errors.ts';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import { bareAddress } from '../../../src/domain/content/mail-address.ts';
import type { MessageSource } from '../../../src/domain/content/message.ts';
import { cheapestOfThree, onBusyMachine } from '../../support/busy-machine.ts';
import { filledOrTooLong, messageSource, NOW, recipient } from './message-factory.ts';
import { parseEmail } from './parse-email.ts';

/**
 * Ten thousand of each, and each of them read back, by hand (seven minutes):
 * HOSTILE_VALUES=10000 npx vitest run test/domain/content/header-injection.test.ts
 */
const VALUES = Number(process.env['HOSTILE_VALUES'] ?? 0);
const TIMEOUT_MS = VALUES > 0 ? 900_000 : 300_000;

const HOSTILE = [
  '\r\nBcc: evil@evil.test',
  '\nBcc: evil@evil.test',
  '\rBcc: evil@evil.test\r',
  '\r\n\r\n<script>',
  '\r\n .\r\n',
  '\0',
  '\u0085Bcc: evil@evil.test',
  '\u2028Bcc: evil@evil.test',
  '\u2029',
  '\v',
  '\f',
  '\x7f',
  ', evil@evil.test',
  '; evil@evil.test',
  'group: evil@evil.test;',
  '(comment)',
  '<evil@evil.test>',
  '"',
  '\\',
  '"\\"',
  '=?UTF-8?Q?=0D=0ABcc:_evil@evil.test?=',
  '=?utf-8?b?DQpCY2M6IGV2aWxAZXZpbC50ZXN0?=',
  '%0d%0aBcc:',
  'x'.repeat(1_100),
  'ö'.repeat(500),
  '\ud800',
  '\udc00',
  '\ufdd00\ufdd1',
  '\ufdd90\ufdd1',
  '😀'.repeat(200),
  ' '.repeat(300),
  '{EMAIL}',
  '{{ 7 | times: 7 }}',
  '{% include "/etc/passwd" %}',
  '@',
  ':',
  '\t',
  'a b',
];
const hostile = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...HOSTILE) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
    ),
    { minLength: 1, maxLength: 5 },
  )
  .map((pieces) => pieces.join(''));

const EXPECTED = [
  'From',
  'To',
  'Subject',
  'Date',
  'Message-ID',
  'Reply-To',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'List-Id',
  'Feedback-ID',
  'Precedence',
  'MIME-Version',
  'Content-Type',
];

test('10,000 hostile values of recipients add nothing', async () => {
  const message = await compileMessage(
    messageSource({
      subject: 'Hi {FIRST_NAME}, {CITY}',
      from: { name: '{FIRST_NAME} at Acme', email: 'n@example.org' },
      replyTo: 'r@example.org',
    }),
    { now: () => NOW },
  );
  let count = 0;
  await fc.assert(
    fc.asyncProperty(hostile, hostile, async (first, city) => {
      const filled = await filledOrTooLong(message, { FIRST_NAME: first, CITY: city });
      if (!filled) return;
      const { content, envelope } = filled;
      expectClean(content);
      expect(envelope).toEqual({ from: 'n@example.org', to: 'ada@example.com' });
      // Reading back is the slow part, so a sample of it must do.
      if (VALUES > 0 || count++ % 20 === 0) await expectOneRecipient(content);
    }),
    { numRuns: 10_000 },
  );
});

test(
  'hostile names of senders, lists and campaigns add nothing',
  async () => {
    await fc.assert(
      fc.asyncProperty(hostile, hostile, hostile, async (name, list, subject) => {
        const base = messageSource({
          replyTo: 'r@example.org',
          from: { name, email: 'n@example.org' },
          campaign: { uid: 'a000000000001', name: list },
        });
        const source = { ...base, list: { ...base.list, name: list }, subject: subject.slice(0, 998) };
        const content = (await (await compiledOrRefused(source))?.fill(recipient()))?.content;
        if (content) expectClean(content);
      }),
      { numRuns: VALUES || 1_000 },
    );
  },
  TIMEOUT_MS,
);

test(
  'hostile addresses are refused, or are plain',
  async () => {
    const base = messageSource();
    const message = await compileMessage(base);
    await fc.assert(
      fc.asyncProperty(hostile, fc.constantFrom('before', 'after', 'local', 'domain'), async (raw, where) => {
        const address = {
          before: `${raw}a@b.test`,
          after: `a@b.test${raw}`,
          local: `a${raw}@b.test`,
          domain: `a@${raw}b.test`,
        }[where];
        if (bareAddress(address) !== undefined)
          expect(address).not.toMatch(/[\s,;:<>()"\\\u0000-\u001f\u0080-\u009f\u2028\u2029]|@.*@/);
        else await expect(async () => message.fill(recipient({}, { email: address }))).rejects.toThrow(ValidationError);
        const filled = await compiledOrRefused({ ...base, from: { name: 'x', email: address }, replyTo: address });
        if (bareAddress(address) === undefined) expect(filled).toBeUndefined();
      }),
      { numRuns: VALUES || 2_000 },
    );
  },
  TIMEOUT_MS,
);

test('a name that outgrows its line when it is quoted is encoded', async () => {
  for (const name of ['"'.repeat(40), `Spring sale "quotes", <angles>, (comments); ${'x@y '.repeat(6)}`]) {
    const list = { ...messageSource().list, name };
    const { content } = await (
      await compileMessage(messageSource({ from: { name, email: 'n@example.org' }, list }))
    ).fill(recipient());
    const [head = ''] = content.toString().split('\r\n\r\n');
    expect(head.split('\r\n').filter((line) => line.length > 78)).toEqual([]);
    expect((await parseEmail(content)).from?.name).toBe(name.trim());
  }
});

test('a megabyte in a name costs under 50 ms; it is cut in a mail of a list, and refused in a campaign', async () => {
  const parts = { html: '<p>{UNSUBSCRIBE_URL}</p>' };
  const message = await compileMessage(messageSource({ ...parts, kind: 'transactional' }));
  const campaign = await compileMessage(messageSource(parts));
  for (const unit of ['a', '\r\n', 'ö', '=?', '" <', '\u2028']) {
    const value = unit.repeat(1_000_000 / unit.length);
    const fill = () => message.fill(recipient({ FIRST_NAME: value }));
    expect(await cheapestOfThree(fill)).toBeLessThan(onBusyMachine(50));
    const { content } = await fill();
    expect(content.length).toBeLessThan(20_000);
    const refused = () => filledOrTooLong(campaign, { FIRST_NAME: value });
    expect(await cheapestOfThree(refused)).toBeLessThan(onBusyMachine(50));
    if (value.trim() !== '') expect(await refused()).toBeUndefined();
  }
});

test('a Message-ID or address of ours that is no such thing is a defect, not a header', async () => {
  const message = await compileMessage(messageSource());
  await expect(async () => message.fill(recipient({}, { messageId: '<a@b>\r\nBcc: x@y' }))).rejects.toThrow(
    'Message-ID',
  );
  const links = { ...recipient().links, unsubscribe: () => 'https://t.test/>\r\nBcc: x@y' };
  await expect(async () => message.fill(recipient({}, { links }))).rejects.toThrow('unsubscribe');
});

async function compiledOrRefused(source: MessageSource) {
  try {
    return await compileMessage(source, { now: () => NOW });
  } catch (error) {
    if (error instanceof ValidationError) return undefined;
    throw error;
  }
}

function expectClean(content: Buffer): void {
  const raw = content.toString('latin1');
  const head = raw.slice(0, raw.indexOf('\r\n\r\n'));
  expect(head.replace(/\r\n(?=[ \t]*[!-~])/g, '')).toMatch(/^[\t -~]*$/);
  const lines = head.split('\r\n');
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(998);
  expect(lines.filter((line) => !/^[ \t]/.test(line)).map((line) => line.slice(0, line.indexOf(':')))).toEqual(
    head.includes('\r\nReply-To:') ? EXPECTED : EXPECTED.filter((name) => name !== 'Reply-To'),
  );
  for (const line of raw.slice(head.length).split('\r\n')) expect(line.length).toBeLessThanOrEqual(76);
}

async function expectOneRecipient(content: Buffer): Promise<void> {
  const email = await parseEmail(content);
  expect(email.to).toEqual([expect.objectContaining({ address: 'ada@example.com' })]);
  expect(email.from?.address).toBe('n@example.org');
  expect([email.cc, email.bcc]).toEqual([undefined, undefined]);
  expect(email.subject).not.toMatch(/[\r\n\0]/);
}
