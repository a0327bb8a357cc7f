/** Hard cases B6 and B7: bounces and complaints are understood, by shapes of the world's mail programs. */
import { describe, expect, test } from 'vitest';
import { deliveryReferenced } from '../../../src/domain/bounces/signed-reference.ts';
import { readMailReport } from '../../../src/domain/bounces/read-mail-report.ts';
import { deliveryMessageId } from '../../../src/domain/tracking/delivery-message-id.ts';
import { linkSignerOf } from '../../../src/domain/tracking/link-signer.ts';
import { returnPathOf } from '../../../src/domain/tracking/return-path.ts';
import { testInstallation } from '../../support/test-context.ts';
import { programShapes, sayings, type Shape } from './bounce-shapes.ts';
import { complaintShapes } from './complaint-shapes.ts';
import { deliveryOf } from '../../support/delivery-of.ts';
import { oddShapes } from './odd-shapes.ts';

const delivery = deliveryOf({ customerId: 7n, campaignId: 81n, subscriberId: 900_001n });
const original = {
  messageId: deliveryMessageId(testInstallation, delivery, 'sender.example'),
  to: 'p.person@mailbox.example',
  returnPath: returnPathOf(testInstallation, delivery, 'bounces.example'),
};
const unsubscribeUrl = linkSignerOf(testInstallation)
  .forRecipient({ ...delivery, listId: 5n })
  .unsubscribe();

async function judged<Some extends Shape>(shapes: readonly Some[]) {
  return Promise.all(
    shapes.map(async (shape) => {
      const report = await readMailReport(Buffer.from(shape.raw));
      const marked = deliveryReferenced(testInstallation, report.marks);
      return { ...shape, report, isOurs: marked?.recipientId === delivery.recipientId };
    }),
  );
}

describe('bounces (B6)', async () => {
  const programs = await judged(programShapes(original));
  const odd = await judged(oddShapes(original));
  const all = [...programs, ...odd];
  const wrong = all.filter(({ verdict, report }) => verdict !== report.verdict);

  test(`all ${all.length} shapes are understood`, () => {
    expect(all.length).toBeGreaterThanOrEqual(150);
    expect(wrong.map(({ name, verdict, report }) => `${name}: ${report.verdict} instead of ${verdict}`)).toEqual([]);
  });

  test('whose they are is found in every one that quotes the message or came to its return-path', () => {
    const lost = all.filter(({ isOurs, raw, name }) => !isOurs && raw !== '' && !name.startsWith('advertising'));
    expect(lost.map(({ name }) => name)).toEqual([]);
  });

  test('status and words of the refusing system are kept on one line', () => {
    const kept = programs.map(({ report }) => report);
    expect(
      kept.filter(({ message }) => message === null || message.length > 1_000 || /[\r\n\0]/.test(message)),
    ).toEqual([]);
    const first = programs.find(({ name }) => name.startsWith('postfix'))?.report;
    expect(first).toMatchObject({
      statusCode: '5.1.1',
      message: expect.stringContaining('User unknown in virtual mailbox table'),
    });
  });

  test('a delay is never a bounce, whatever it says', async () => {
    const delay = oddShapes(original).find(({ name }) => name === 'delay: postfix')?.raw ?? '';
    const told = await judged(
      sayings.map(({ reply }) => ({
        name: reply,
        verdict: 'delayed',
        raw: delay.replace(/Diagnostic-Code: [^\r]*/, `Diagnostic-Code: smtp; ${reply.replace(/\s+/g, ' ')}`),
      })),
    );
    expect(told.filter(({ report }) => report.verdict !== 'delayed')).toEqual([]);
  });
});

describe('complaints (B7)', async () => {
  const all = await judged(complaintShapes(original, unsubscribeUrl));
  test(`all ${all.length} shapes are understood, and whose message it was`, () => {
    expect(all.length).toBeGreaterThanOrEqual(30);
    expect(all.filter(({ verdict, report }) => report.verdict !== verdict).map(({ name }) => name)).toEqual([]);
    expect(all.filter(({ hasMark, isOurs }) => hasMark !== isOurs).map(({ name }) => name)).toEqual([]);
  });
  test('the kind of complaint is kept', () => {
    expect(all.find(({ name }) => name === 'fraud')?.report.message).toBe('fraud');
    expect(all.find(({ name }) => name === 'no type at all')?.report.message).toBe('abuse');
  });
});

/** CPU time of reading each of them, at most; a slow one would hold up everything else of its process. */
const CPU_MS_MAX = 3_000;

test('hostile mails are read in bounded time, and never throw', async () => {
  const megabyte = 1_000_000;
  const hostile: Readonly<Record<string, string>> = {
    'open tags': `Content-Type: text/html\r\n\r\n${'<'.repeat(megabyte)}`,
    'style without end': `Content-Type: text/html\r\n\r\n${'<style>'.repeat(megabyte / 7)}`,
    'nested parts': Array.from(
      { length: 3_000 },
      (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`,
    ).join(''),
    'nested messages': 'Content-Type: message/rfc822\r\n\r\n'.repeat(30_000),
    'many headers': `${'X-A: b\r\n'.repeat(120_000)}\r\n`,
    'one header': `Subject: ${'a '.repeat(megabyte / 2)}\r\n\r\n`,
    'many groups': `Content-Type: message/delivery-status\r\n\r\n${'Action: failed\r\n\r\n'.repeat(50_000)}`,
    'many return-paths': `Subject: x\r\n\r\n${`bounce+${'a'.repeat(56)}@x.example `.repeat(14_000)}`,
    'many ids': `Subject: x\r\n\r\n${`<1.2.3.${'a'.repeat(24)}@x.example>`.repeat(20_000)}`,
    'almost ids': `Subject: x\r\n\r\n${'1.'.repeat(megabyte / 2)}`,
    spaces: `From: mailer-daemon@x\r\nSubject: failure notice\r\n\r\n${' '.repeat(megabyte)}`,
    dashes: `From: mailer-daemon@x\r\nSubject: failure notice\r\n\r\n${'\n-'.repeat(megabyte / 2)}`,
    words: `From: mailer-daemon@x\r\nSubject: failure notice\r\n\r\n${'user mailbox address account domain '.repeat(megabyte / 36)}`,
    codes: `From: mailer-daemon@x\r\nSubject: failure notice\r\n\r\n${'550 5.1.1 <a@b> '.repeat(megabyte / 16)}`,
    zeros: '\0'.repeat(megabyte),
    'no line end': 'x'.repeat(megabyte),
    'a sender without end': `From: ${'('.repeat(60_000)}\r\n\r\nx`,
    'a folded status': `Content-Type: message/delivery-status\r\n\r\nAction: failed\r\n${' x\r\n'.repeat(10_000)}`,
  };
  for (const [name, raw] of Object.entries(hostile)) {
    const before = process.cpuUsage();
    const report = await readMailReport(Buffer.from(raw));
    deliveryReferenced(testInstallation, report.marks);
    const { user, system } = process.cpuUsage(before);
    expect(`${name}: ${(user + system) / 1_000 < CPU_MS_MAX}`).toBe(`${name}: true`);
    expect(report.message ?? '').not.toMatch(/\0/);
  }
});
