/** What becomes of a recipient after each kind of failure, and how long retries may go on. */
import { describe, expect, it } from 'vitest';
import { outcomeOf, retryDelaySeconds, type RetryRule } from '../../../src/domain/delivery/ledger/delivery.ts';
import { SendingError, type SendingErrorKind } from '../../../src/plugin-api/index.ts';
import { judgeReply } from '../../../src/domain/sending/replies/judge-reply.ts';
import { programReplyTable } from '../sending/program-reply-table.ts';
import { providerReplyTable } from '../sending/reply-table.ts';

const HOURS_72 = 259_200;
const rule: RetryRule = { attemptsMax: 20, delaySeconds: 15 };

const judged = (error: SendingError) => ({
  verdict: judgeReply(error, { attempts: 0 }).recipient,
  reply: error.message,
});

function after(kind: SendingErrorKind, text: string, given: { attempts?: number; policy?: 'park' | 'retry' } = {}) {
  const code = Number(/^[45]\d\d/.exec(text)?.[0] ?? 0) || undefined;
  return outcomeOf({
    delivery: { recipientId: 1n, occurrence: 0n, epoch: 1, attempts: given.attempts ?? 0 },
    ...judged(new SendingError(kind, text, { code })),
    policy: given.policy ?? 'park',
    rule,
  });
}

describe('a failure', () => {
  it('is told by class and matter', () => {
    expect(after('refused', '550 5.1.1 no such user')).toMatchObject({
      state: 'failed',
      isTry: true,
      reason: 'permanent.mailbox_unknown',
    });
    expect(after('refused', '552 5.2.2 full').reason).toBe('transient.mailbox_full');
    expect(after('deferred', '451 4.7.1 greylisted')).toMatchObject({
      state: 'queued',
      isTry: true,
      reason: 'transient.greylisting',
    });
    expect(after('unavailable', '421 4.7.28 slow down')).toMatchObject({ state: 'queued', isTry: false });
    expect(after('unavailable', 'connect ECONNREFUSED').reason).toBe('server_unavailable');
    expect(after('unknown', 'The connection was lost')).toMatchObject({ state: 'unknown', reason: 'no_answer' });
    expect(after('unknown', 'The connection was lost', { policy: 'retry' })).toMatchObject({ state: 'queued' });
  });

  it('of a vendor that speaks no SMTP is told by what its driver made of it', () => {
    const reason = (kind: SendingErrorKind, code: number | undefined, text: string) =>
      outcomeOf({
        delivery: { recipientId: 1n, occurrence: 0n, epoch: 1, attempts: 0 },
        ...judged(new SendingError(kind, text, { code })),
        policy: 'park',
        rule,
      }).reason;
    expect(reason('refused', 422, 'The address is on the suppression list')).toContain('permanent.');
    expect(reason('refused', undefined, 'bad')).toBe('permanent.mailbox_not_available');
    expect(reason('deferred', 429, 'wait')).toBe('rate_limit.too_fast');
    expect(reason('deferred', 503, 'wait')).toMatch(/^transient\./);
  });

  it('is final for every 5xx of the table, and retried for every 4xx', () => {
    for (const [reply] of [...providerReplyTable, ...programReplyTable]) {
      const first = reply[0];
      if (first !== '4' && first !== '5') continue;
      const { state } = after(first === '5' ? 'refused' : 'deferred', reply);
      expect([reply, state]).toEqual([reply, first === '5' ? 'failed' : 'queued']);
    }
  });

  it('keeps only so much of what a server writes', () => {
    expect(after('refused', `550 ${'x'.repeat(100_000)}`).reply).toHaveLength(1_000);
  });
});

describe('retries', () => {
  it('wait as long as the server asks, within an hour, and never shorter than their turn', () => {
    const wait = (text: string, attempts = 0) => after('deferred', text, { attempts }).delaySeconds;
    expect(wait('450 4.2.0 greylisted, try again in 5 minutes')).toBeGreaterThanOrEqual(300);
    expect(wait('450 4.2.0 greylisted, try again in 5 minutes')).toBeLessThanOrEqual(330);
    expect(wait('450 try again in 9999 hours')).toBeLessThanOrEqual(3_960);
    expect(wait('450 try again in 1 second', 9)).toBeGreaterThanOrEqual(15 * 2 ** 9);
  });

  it('come at different times', () => {
    expect(new Set(Array.from({ length: 50 }, () => retryDelaySeconds(5, rule))).size).toBeGreaterThan(40);
  });

  it.each([
    [20, 15],
    [1, 15],
    [100, 1],
    [100, 15],
    [100, 3_600],
    [12, 60],
  ])('of at most %i tries from %i s end within three days, whatever servers ask for', (attemptsMax, delaySeconds) => {
    for (const text of ['450 later', '450 try again in 9999 hours']) {
      let waited = 0;
      let tries = 1;
      for (; ; tries++) {
        const outcome = outcomeOf({
          delivery: { recipientId: 1n, occurrence: 0n, epoch: 1, attempts: tries - 1 },
          ...judged(new SendingError('deferred', text, { code: 450 })),
          policy: 'retry',
          rule: { attemptsMax, delaySeconds },
        });
        if (outcome.state === 'failed') {
          expect(outcome.reason).toMatch(/\.gave_up$/);
          break;
        }
        waited += outcome.delaySeconds;
      }
      expect(tries).toBeLessThanOrEqual(attemptsMax);
      expect(waited).toBeLessThanOrEqual(HOURS_72);
    }
  });

  it('use all tries of the settings that come with the product, over about two days', () => {
    let waited = 0;
    for (let attempts = 0; attempts < 19; attempts++) {
      const { state, delaySeconds } = after('deferred', '450 later', { attempts });
      expect(state).toBe('queued');
      waited += delaySeconds;
    }
    expect(after('deferred', '450 later', { attempts: 19 }).state).toBe('failed');
    expect(waited / 3_600).toBeGreaterThan(48);
  });
});
