/** What replies mean: the table of replies, and what no reply may ever do. */
import { describe, expect, it } from 'vitest';
import { deliveryReasonText, reasonOfReply } from '../../../src/domain/sending/delivery-reason.ts';
import { classifyReply } from '../../../src/domain/sending/replies/classify-reply.ts';
import { replyTexts } from '../../../src/domain/sending/replies/reply-matter.ts';
import { programReplyTable } from './program-reply-table.ts';
import { providerReplyTable } from './reply-table.ts';

const replyTable = [...providerReplyTable, ...programReplyTable];

/** As the driver hands a reply on: lines joined, the code of the first one in front. */
function joined(reply: string): string {
  const [first = '', ...others] = reply.split('|');
  return [first, ...others.map((line) => line.slice(4))].join(' ').replace(/^(\d{3})-/, '$1 ');
}

describe('the meaning of a reply', () => {
  it('has more than a hundred examples', () => {
    expect(replyTable.length).toBeGreaterThan(100);
  });

  it('is right for each of them', () => {
    const said = replyTable.map(([reply]) => {
      const meaning = classifyReply({ text: joined(reply) });
      const gone = meaning.isMailboxGone ? ['gone'] : [];
      return [reply, meaning.class, meaning.scope, replyTexts[meaning.what], ...gone];
    });
    expect(said).toEqual(replyTable);
  });

  it('is the same when code and status are given apart from the text', () => {
    for (const [reply] of replyTable) {
      const text = joined(reply);
      const code = /^[2-5]\d\d/.exec(text)?.[0];
      const status = /(?<=^\d{3} )[245]\.\d+\.\d+/.exec(text)?.[0];
      if (code === undefined) continue;
      expect(classifyReply({ text, code: Number(code), enhancedStatus: status })).toEqual(classifyReply({ text }));
    }
  });

  it('is the same for the lines as they came', () => {
    for (const [reply] of replyTable) {
      const lines = reply.replaceAll('|', '\r\n');
      expect({ reply, ...classifyReply({ text: lines }) }).toEqual({
        reply,
        ...classifyReply({ text: joined(reply) }),
      });
    }
  });
});

describe('how long to wait', () => {
  it.each([
    ['451 4.7.1 Greylisted, try again in 5 minutes', 300],
    ['450 4.2.0 greylisted for 60 seconds', 60],
    ['450 please retry after 300 s', 300],
    ['421 too many connections, wait 2 hours', 7_200],
    ['421 slow down, try again in 999999 hours', 21_600],
    ['421-4.7.28 Gmail has detected an unusual rate of unsolicited mail', 600],
    ['421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred', 600],
    ['451 4.7.1 greylisting', 300],
    ['450 4.2.1', undefined],
    ['550 5.1.1 try again in 5 minutes', undefined],
  ])('%s: %s', (text, seconds) => {
    expect(classifyReply({ text }).waitSeconds).toBe(seconds);
  });
});

describe('a reply', () => {
  it('never makes a mailbox gone, or anything permanent, by a code that is not final', () => {
    for (const [reply] of replyTable) {
      const meaning = classifyReply({ text: joined(reply), code: 450 });
      expect([reply, meaning.isMailboxGone, meaning.class === 'permanent']).toEqual([reply, false, false]);
    }
  });

  it('costs next to nothing, however it is made', () => {
    const words = [
      'mailbox ',
      'a',
      'user ',
      'sender ',
      'domain ',
      'ip ',
      'exceeded ',
      'server busy ',
      'url ',
      '5.1.1 ',
    ];
    const startedAt = process.cpuUsage();
    for (const word of words) for (const code of [421, 550]) classifyReply({ text: word.repeat(100_000), code });
    const { user, system } = process.cpuUsage(startedAt);
    // not a measure of speed: a rule that backtracks takes seconds or for ever
    expect(user + system).toBeLessThan(2_000_000);
  });

  it('means the same whoever it is about', () => {
    for (const name of ['full', 'virus', 'spamhaus', 'user.unknown', 'greylist', 'relay-access-denied']) {
      const said = `550 5.7.17 <${name}@there.test>: no, not today ${name}@there.test`;
      expect(classifyReply({ text: said }).what).toBe('mailbox_has_another_owner');
    }
  });

  it('is stored as a code and has a text', () => {
    const [gone, tooMuch] = ['550 5.1.1 no', '421 4.7.28'].map((text) => classifyReply({ text }));
    if (!gone || !tooMuch) throw new Error('There are two.');
    expect(reasonOfReply(gone)).toBe('permanent.mailbox_unknown');
    expect(deliveryReasonText(reasonOfReply(gone))).toBe('permanent: mailbox unknown');
    expect(deliveryReasonText(reasonOfReply(tooMuch, { gaveUp: true }))).toBe(
      'rate limit: too much mail, tried too often',
    );
    expect(deliveryReasonText('of_a_newer_version')).toBe('of_a_newer_version');
  });
});
