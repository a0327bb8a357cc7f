/** What a reply means for its recipient, its campaign and its server: one verdict, by a table. */
import { describe, expect, it } from 'vitest';
import { judgeReply, type Witnesses } from '../../../src/domain/sending/replies/judge-reply.ts';
import { SendingError, type SendingErrorKind } from '../../../src/plugin-api/index.ts';

interface Seen {
  readonly attempts?: number;
  /** The campaign was refused too often for one recipient's host. */
  readonly isTooOften?: boolean;
  readonly isSpike?: boolean;
  /** The server is to blame for what speaks of its set-up. */
  readonly isServers?: boolean;
  readonly isEcho?: boolean;
}

const SPIKE = { refused: 950, of: 1_000, since: new Date(0) };

function judge(kind: SendingErrorKind, text: string, seen: Seen = {}) {
  const code = Number(/^[245]\d\d/.exec(text)?.[0] ?? 0) || undefined;
  const witnesses: Witnesses = {
    attempts: seen.attempts ?? 0,
    campaign: {
      taken: () => undefined,
      refused: () => seen.isTooOften ?? false,
      bounced: (isMailboxGone) => (isMailboxGone && seen.isSpike ? SPIKE : undefined),
    },
    server: { isToBlame: () => seen.isServers ?? true, isEcho: () => seen.isEcho ?? false },
  };
  const { recipient, campaign, server } = judgeReply(new SendingError(kind, text, { code }), witnesses);
  const about = (one: (typeof server)['server']) => (typeof one === 'object' ? one.rule.restMin : one);
  return [
    recipient.kind,
    recipient.reason,
    campaign?.problem,
    about(server.server),
    about(server.mailboxes),
    server.isHardBounce,
  ];
}

const NO_USER = '550 5.1.1 no such user';
const SENDER = '553 5.7.1 Sender address rejected: not owned by user';
const NO_RELAY = '554 5.7.1 Relay access denied';
const GREY = '451 4.7.1 greylisted';
const TOO_FAST = '421 4.7.28 unusual rate of mail';
const LOST = 'The connection was lost';

describe('the verdict', () => {
  it.each<[SendingErrorKind, string, Seen, ReturnType<typeof judge>]>([
    // driver's kind, reply, seen before -> recipient, reason, campaign, server's rest, provider's rest, hard bounce
    ['refused', NO_USER, {}, ['refused', 'permanent.mailbox_unknown', undefined, 'well', 'well', true]],
    [
      'refused',
      NO_USER,
      { isSpike: true },
      ['refused', 'permanent.mailbox_unknown', 'bounce spike', 'well', 'well', true],
    ],
    ['refused', '550 no', {}, ['refused', 'permanent.mailbox_not_available', undefined, 'well', 'well', false]],
    ['refused', '552 5.2.2 full', {}, ['refused', 'transient.mailbox_full', undefined, 'well', 'well', false]],
    ['deferred', GREY, {}, ['deferred', 'transient.greylisting', undefined, 'well', undefined, false]],
    ['unknown', LOST, {}, ['unknown', 'no_answer', undefined, 1, undefined, false]],
    ['unavailable', 'connect ECONNREFUSED', {}, ['unavailable', 'server_unavailable', undefined, 1, undefined, false]],
  ])('%s "%s" %j', (kind, text, seen, verdict) => {
    expect(judge(kind, text, seen)).toEqual(verdict);
  });

  it('on a refusal of the sender is that it is tried again, until it is too often or too late', () => {
    expect(judge('refused', SENDER).slice(0, 3)).toEqual(['deferred', expect.any(String), undefined]);
    expect(judge('refused', SENDER, { isTooOften: true }).slice(0, 3)).toEqual([
      'refused',
      expect.any(String),
      'refused',
    ]);
    expect(judge('refused', SENDER, { attempts: 4 }).slice(0, 3)).toEqual(['refused', expect.any(String), undefined]);
    // A mail that is no campaign's has nobody to stop.
    expect(judgeReply(new SendingError('refused', SENDER, { code: 553 }), { attempts: 0 })).toMatchObject({
      recipient: { kind: 'refused' },
      campaign: undefined,
    });
  });

  it('on a refusal of the set-up is on the server, unless it may be the host of the recipient', () => {
    expect(judge('refused', NO_RELAY)[0]).toBe('unavailable');
    expect(judge('refused', NO_RELAY, { isServers: false })[0]).toBe('deferred');
    expect(judge('refused', NO_RELAY, { isServers: false, attempts: 4 })[0]).toBe('refused');
    expect(judge('refused', NO_RELAY, { isSpike: true })[2]).toBeUndefined();
  });

  it('on a rate limit rests what asked for it', () => {
    expect(judge('unavailable', TOO_FAST).slice(3)).toEqual([undefined, 600, false]);
    expect(judge('deferred', '450 4.7.1 you are sending too fast')[0]).toBe('deferred');
  });

  it('says nothing of the server for a message that only shared a connection', () => {
    const echo = judge('unavailable', '421 closing', { isEcho: true });
    expect([echo[0], ...echo.slice(3)]).toEqual(['unavailable', undefined, undefined, false]);
    expect(judge('unavailable', '421 closing')[3]).toBeGreaterThan(0);
  });

  it('on a message that was taken is that all is well', () => {
    expect(judgeReply(undefined, { attempts: 3 })).toEqual({
      recipient: { kind: 'sent', reason: null },
      campaign: undefined,
      server: { server: 'well', mailboxes: 'well', isHardBounce: false },
    });
  });
});
