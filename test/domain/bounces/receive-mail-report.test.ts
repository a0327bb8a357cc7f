/** What mails to bounce addresses do to people: the policy, and that nobody can forge one (hard case B8). */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { receiveMailReport } from '../../../src/domain/bounces/receive-mail-report.ts';
import { recordRefusals } from '../../../src/domain/bounces/record-refusals.ts';
import { bouncePolicyOfCustomer, updateBouncePolicy } from '../../../src/domain/tracking/bounce-policy.ts';
import { deliveryMessageId } from '../../../src/domain/tracking/delivery-message-id.ts';
import { recordDeliveryReport } from '../../../src/domain/tracking/record-delivery-report.ts';
import { returnPathOf } from '../../../src/domain/tracking/return-path.ts';
import {
  anotherMessage,
  reportedWorld,
  standingOf,
  untouched,
  type ReportedWorld,
} from '../../support/reported-world.ts';
import { underOtherIds, withOtherDigit } from '../../support/forged-reference.ts';
import { createTestContext } from '../../support/test-context.ts';
import { originalHeaders, programShapes, reportMail, status, type Original } from './bounce-shapes.ts';
import { complaintShapes } from './complaint-shapes.ts';
import { deliveryOf } from '../../support/delivery-of.ts';
import { sourceOfCampaign } from '../../../src/domain/statistics/source-read-model.ts';
import { oddShapes } from './odd-shapes.ts';

const root = await createTestContext();
const installation = root.installation;

const receive = (world: ReportedWorld, raw: string, more: { recipient?: string; customerId?: bigint } = {}) =>
  receiveMailReport({ ...root, viewer: null }, { raw: Buffer.from(raw), ...more });

const bounceOf = (original: Original, verdict: string) =>
  programShapes(original).find((shape) => shape.verdict === verdict)?.raw ?? '';

test('hard: suppressed at once, and once; the consent stays', async () => {
  const at = await reportedWorld(root);
  const raw = bounceOf(at.original, 'hard');
  expect(await receive(at, raw)).toEqual({ verdict: 'hard', outcome: 'recorded' });
  const after = { ...untouched, bounces: 1, counted: [1, 0, 1, 0], suppressed: true };
  expect(await standingOf(at)).toEqual(after);
  expect(await receive(at, raw)).toEqual({ verdict: 'hard', outcome: 'known' });
  expect(await standingOf(at)).toEqual(after);
});

test('soft: after five messages in thirty days; the same message counts once, one that arrived begins anew', async () => {
  let at = await reportedWorld(root);
  const bounce = async () => {
    at = await anotherMessage(at);
    await receive(at, bounceOf(at.original, 'soft'));
    await receive(at, bounceOf(at.original, 'soft'));
    return standingOf(at);
  };
  for (let n = 0; n < 4; n++) expect(await bounce()).toMatchObject({ bounces: 1, suppressed: false });
  at = await anotherMessage(at);
  await recordDeliveryReport(at.ctx, { messageId: at.messageId, type: 'sent' });
  for (let n = 0; n < 4; n++) expect(await bounce()).toMatchObject({ suppressed: false });
  expect(await bounce()).toMatchObject({ bounces: 1, suppressed: true, status: 'subscribed' });
  expect(await queryRows(at.ctx.db, sql`SELECT 1 FROM hot.soft_bounce WHERE customer_id = ${at.customerId}`)).toEqual(
    [],
  );
});

test('soft: what is older than the policy looks back counts no more, and a customer may be more or less patient', async () => {
  let at = await reportedWorld(root);
  const { ctx, customerId } = at;
  expect(await bouncePolicyOfCustomer(ctx)).toEqual({ softBounceLimit: 5, softBounceDays: 30, isOwn: false });
  expect(await updateBouncePolicy(ctx, { softBounceLimit: 2, softBounceDays: 7 })).toEqual({
    softBounceLimit: 2,
    softBounceDays: 7,
    isOwn: true,
  });
  await receive(at, bounceOf(at.original, 'soft'));
  await ctx.db.execute(
    sql`UPDATE hot.soft_bounce SET times = ARRAY[now() - interval '8 days'] WHERE customer_id = ${customerId}`,
  );
  at = await anotherMessage(at);
  await receive(at, bounceOf(at.original, 'soft'));
  expect(await standingOf(at)).toMatchObject({ suppressed: false });
  await updateBouncePolicy(ctx, { softBounceLimit: 0 });
  for (let n = 0; n < 3; n++) {
    at = await anotherMessage(at);
    await receive(at, bounceOf(at.original, 'soft'));
  }
  expect(await standingOf(at)).toMatchObject({ suppressed: false });
  expect(await updateBouncePolicy(ctx, { softBounceLimit: null })).toEqual({
    softBounceLimit: 5,
    softBounceDays: 7,
    isOwn: true,
  });
  expect(await updateBouncePolicy(ctx, { softBounceDays: null })).toMatchObject({ isOwn: false });
  for (const wrong of [
    { softBounceLimit: -1 },
    { softBounceLimit: 101 },
    { softBounceDays: 0 },
    { softBounceDays: 366 },
  ])
    await expect(updateBouncePolicy(ctx, wrong)).rejects.toThrow('invalid');
});

test('soft: of twenty messages that bounce at once, the fifth suppresses', async () => {
  const first = await reportedWorld(root);
  const all = await Promise.all(Array.from({ length: 20 }, () => anotherMessage(first)));
  await Promise.all(all.map((at) => receive(at, bounceOf(at.original, 'soft'))));
  expect(await standingOf(first)).toMatchObject({ suppressed: true });
  const [left] = await queryRows<{ count: number }>(
    first.ctx.db,
    sql`SELECT coalesce(sum(cardinality(times)), 0)::int AS count FROM hot.soft_bounce WHERE customer_id = ${first.customerId}`,
  );
  expect(left?.count).toBe(0);
});

test('blocked: counted, and nobody is suppressed; delays and people who are away are not even counted', async () => {
  const at = await reportedWorld(root);
  for (const { raw, verdict } of oddShapes(at.original))
    if (['delayed', 'autoReply', 'none'].includes(verdict)) await receive(at, raw, { recipient: at.returnPath });
  expect(await standingOf(at)).toEqual(untouched);
  expect(await receive(at, bounceOf(at.original, 'blocked'))).toEqual({ verdict: 'blocked', outcome: 'recorded' });
  expect(await standingOf(at)).toEqual({ ...untouched, bounces: 1, counted: [1, 0, 1, 0] });
});

test('a complaint unsubscribes and suppresses, once; not-spam does nothing', async () => {
  const at = await reportedWorld(root);
  const shapes = complaintShapes(at.original, 'https://nowhere.example/u/x').filter(
    ({ name }) => !name.includes('link'),
  );
  const praise = shapes.filter(({ verdict }) => verdict === 'none');
  expect(praise.length).toBeGreaterThan(2);
  for (const { raw } of praise) expect(await receive(at, raw)).toMatchObject({ outcome: 'nothing' });
  expect(await standingOf(at)).toEqual(untouched);
  for (const { raw } of shapes) await receive(at, raw);
  expect(await standingOf(at)).toEqual({
    bounces: 0,
    complaints: 1,
    status: 'unsubscribed',
    consents: 1,
    counted: [1, 1, 0, 1],
    suppressed: true,
  });
});

test("a customer's own mailbox takes reports about its own messages only", async () => {
  const [mine, theirs] = [await reportedWorld(root), await reportedWorld(root)];
  const raw = bounceOf(theirs.original, 'hard');
  expect(await receive(theirs, raw, { customerId: mine.customerId })).toEqual({ verdict: 'hard', outcome: 'foreign' });
  expect(await standingOf(theirs)).toEqual(untouched);
  expect(await receive(theirs, raw, { customerId: theirs.customerId })).toMatchObject({ outcome: 'recorded' });
});

test("a customer's own mailbox unsubscribes its own people only", async () => {
  const [mine, theirs] = [await reportedWorld(root), await reportedWorld(root)];
  const written = ({ unsubscribeAddress }: ReportedWorld) =>
    `To: ${unsubscribeAddress}\r\nSubject: unsubscribe\r\n\r\n`;
  const toMine = { customerId: mine.customerId };
  expect(await receive(mine, written(theirs), toMine)).toEqual({ verdict: 'unsubscribe', outcome: 'foreign' });
  expect(await receive(mine, written(mine), toMine)).toEqual({ verdict: 'unsubscribe', outcome: 'recorded' });
  expect(await standingOf(theirs)).toEqual(untouched);
  expect(await standingOf(mine)).toMatchObject({ status: 'unsubscribed' });
});

test('1,000 forged mails have no effect (B8)', async () => {
  const at = await reportedWorld(root);
  const old = await reportedWorld(root, { daysAgo: 31 });
  const failed = await reportedWorld(root, { state: 'failed' });
  const stranger = await reportedWorld(root);
  const { customerId, subscriberId } = at;
  const elsewhere = { ...installation, secret: 'another-installation'.repeat(3) };
  const marks = { messageId: /^(<?mail\.)([0-9a-z]+)(@.*)$/, returnPath: /^(bounce\+)([0-9a-z]+)(@.*)$/ };
  const forged = (text: string, what: keyof typeof marks, change: (mark: string) => string) =>
    text.replace(marks[what], (_text, start: string, mark: string, end: string) => start + change(mark) + end);
  const forgeries: ((n: number) => readonly [Original, bigint?])[] = [
    // The marks of another installation.
    (n) => {
      const key = deliveryOf({ customerId, campaignId: at.campaignId + BigInt(n % 3), subscriberId });
      return [
        {
          to: at.emailKey,
          messageId: deliveryMessageId(elsewhere, key, 'x.example'),
          returnPath: returnPathOf(elsewhere, key, 'x.example'),
        },
      ];
    },
    // A digit is another.
    (n) => [
      {
        to: at.emailKey,
        messageId: forged(at.messageId, 'messageId', (mark) => withOtherDigit(mark, n)),
        returnPath: forged(at.returnPath, 'returnPath', (mark) => withOtherDigit(mark, n)),
      },
    ],
    // The code of one message under the numbers of another.
    (n) => [
      {
        to: at.emailKey,
        returnPath: forged(at.returnPath, 'returnPath', (mark) => underOtherIds(mark, n + 1)),
        messageId: forged(at.messageId, 'messageId', (mark) => underOtherIds(mark, n + 1)),
      },
    ],
    // Replayed after thirty days; about what never left.
    (n) => [n % 2 ? old.original : failed.original],
    // In another customer's mailbox.
    () => [at.original, stranger.customerId],
  ];
  const blank = { to: at.emailKey, messageId: '<blank@x.example>', returnPath: 'blank@x.example' };
  const forgedLink = 'https://mail.test/u/forged-token-of-43-letters-which-all-are-no';
  const shapes = [...programShapes(blank), ...complaintShapes(blank, forgedLink)].filter(({ verdict }) =>
    ['hard', 'complaint'].includes(verdict),
  );
  const outcomes = await Promise.all(
    Array.from({ length: 1_000 }, async (_, n) => {
      const [original, owner] = forgeries[n % forgeries.length]?.(n) ?? [at.original];
      const shape = shapes[n % shapes.length]?.raw ?? '';
      const raw = shape
        .replaceAll(blank.messageId, original.messageId)
        .replaceAll(blank.returnPath, original.returnPath);
      const { outcome } = await receive(at, raw, owner === undefined ? {} : { customerId: owner });
      return outcome;
    }),
  );
  const counts = Map.groupBy(outcomes, (outcome) => outcome);
  expect(outcomes.filter((outcome) => outcome === 'recorded' || outcome === 'known')).toEqual([]);
  expect([...counts.keys()].toSorted()).toEqual(['foreign', 'not sent', 'too old', 'unmarked']);
  for (const world of [at, old, stranger]) expect(await standingOf(world)).toEqual(untouched);
  expect(await standingOf(failed)).toMatchObject({
    bounces: 0,
    complaints: 0,
    suppressed: false,
    status: 'subscribed',
  });
});

test('a server that refuses because nobody is there is a bounce; the message stays failed', async () => {
  const replies = [
    ['550 5.1.1 user unknown', { bounces: 1, counted: [0, 0, 1, 0], suppressed: true }],
    ['552 5.2.2 mailbox full', { bounces: 1, counted: [0, 0, 1, 0], suppressed: false }],
    ['550 5.7.1 blocked as spam', { bounces: 0, counted: [0, 0, 0, 0], suppressed: false }],
    [
      '550 5.1.8 <a@b.example>: Sender address rejected: Domain not found',
      { bounces: 0, counted: [0, 0, 0, 0], suppressed: false },
    ],
    ['not composed', { bounces: 0, counted: [0, 0, 0, 0], suppressed: false }],
  ] as const;
  for (const [reply, expected] of replies) {
    const at = await reportedWorld(root, { state: 'failed' });
    const refusals = {
      ...sourceOfCampaign(at),
      messages: [at.subscriberId, 999_999n].map((recipientId) => ({ recipientId, occurrence: 0n })),
    };
    await root.db.execute(sql`UPDATE hot.delivery SET reply = ${reply} WHERE source_id = ${at.campaignId}`);
    await Promise.all([recordRefusals(root, refusals), recordRefusals(root, refusals)]);
    await recordRefusals(root, refusals);
    expect({ reply, ...(await standingOf(at)) }).toMatchObject({ reply, ...expected, status: 'subscribed' });
  }
});

test('a text that a database does not take, or a log does not, is no obstacle', async () => {
  const at = await reportedWorld(root);
  const raw = reportMail('From: mailer-daemon@x.example\nSubject: Undelivered', {
    text: 'x',
    original: at.original,
    status: status(
      at.original,
      'failed',
      '5.1.1',
      `Diagnostic-Code: smtp; 550 5.1.1 \0 =cmd|' /C calc'!A0 ${'é\u2028\u0085'.repeat(2_000)}\n`,
    ),
  });
  expect(await receive(at, raw)).toMatchObject({ outcome: 'recorded' });
  expect(originalHeaders(at.original)).toContain(at.messageId);
  const [event] = await queryRows<{ message: string }>(
    at.ctx.db,
    sql`SELECT message FROM hot.bounce_event WHERE source_id = ${at.campaignId}`,
  );
  expect(event?.message.length).toBeLessThanOrEqual(1_000);
  expect(event?.message).not.toMatch(/[\p{Cc}\u2028]/u);
});
