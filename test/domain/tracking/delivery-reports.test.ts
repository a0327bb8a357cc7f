/** Reports from outside about messages of ours (4.12, D41, hard case B8), on a real database. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import type { Context } from '../../../src/domain/context.ts';
import { statusCodeIn, type DeliveryReportInput } from '../../../src/domain/tracking/delivery-report.ts';
import { personEventKind } from '../../../src/events/person-event.ts';
import { recordDeliveryReport } from '../../../src/domain/tracking/record-delivery-report.ts';
import { settle } from '../../../src/domain/delivery/ledger/ledger-store.ts';
import { ForeignResourceError, NotFoundError, ValidationError, WrongStateError } from '../../../src/lib/errors.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { underOtherIds, withOtherDigit } from '../../support/forged-reference.ts';
import { reportedWorld, standingOf } from '../../support/reported-world.ts';
import { createTenant } from '../../support/tenant.ts';
import { ledgerOfCampaign } from '../../../src/domain/delivery/ledger/delivery.ts';
import { createTestContext } from '../../support/test-context.ts';

const root = await createTestContext();
await root.db.execute(sql`SELECT hot.ensure_partitions((current_date - 40)::date, current_date)`);

const untouched = {
  bounces: 0,
  complaints: 0,
  status: 'subscribed',
  consents: 0,
  counted: [1, 1, 0, 0],
  suppressed: false,
};

test('a hard bounce is counted once, suppresses the address and leaves the consent', async () => {
  const at = await reportedWorld(root);
  const report: DeliveryReportInput = {
    messageId: at.messageId,
    type: 'bounced',
    bounceType: 'hard',
    description: ` 550 5.1.1 no such user${' '.repeat(2_000)}`,
  };
  expect(await recordDeliveryReport(at.ctx, report)).toEqual({ type: 'bounced', changed: true });
  const after = { ...untouched, bounces: 1, counted: [1, 0, 1, 0], suppressed: true };
  expect(await standingOf(at)).toEqual(after);
  expect(await recordDeliveryReport(at.ctx, report)).toEqual({ type: 'bounced', changed: false });
  expect(await recordDeliveryReport(at.ctx, { ...report, bounceType: 'soft' })).toMatchObject({ changed: false });
  expect(await standingOf(at)).toEqual(after);
  const [event] = await queryRows(
    at.ctx.db,
    sql`SELECT type, status_code, message FROM hot.bounce_event WHERE source_id = ${at.campaignId}`,
  );
  expect(event).toEqual({ type: 'hard', status_code: '5.1.1', message: '550 5.1.1 no such user' });
});

test('a soft bounce is noted only; a hard one after it suppresses and counts no second time', async () => {
  const at = await reportedWorld(root);
  await recordDeliveryReport(at.ctx, { messageId: at.messageId, type: 'bounced' });
  expect(await standingOf(at)).toEqual({ ...untouched, bounces: 1, counted: [1, 0, 1, 0] });
  await recordDeliveryReport(at.ctx, { messageId: at.messageId, type: 'bounced', bounceType: 'hard' });
  expect(await standingOf(at)).toEqual({ ...untouched, bounces: 2, counted: [1, 0, 1, 0], suppressed: true });
});

test('a complaint suppresses and unsubscribes, once; taking a message out of the junk is none', async () => {
  const at = await reportedWorld(root);
  await recordDeliveryReport(at.ctx, { messageId: at.messageId, type: 'abuse', reportType: 'not-spam' });
  expect(await standingOf(at)).toEqual(untouched);
  const reports = (['abuse', 'reported', 'abuse'] as const).map((type) => ({ messageId: at.messageId, type }));
  for (const report of reports) await recordDeliveryReport(at.ctx, report);
  const after = {
    bounces: 0,
    complaints: 1,
    status: 'unsubscribed',
    consents: 1,
    counted: [1, 1, 0, 1],
    suppressed: true,
  };
  expect(await standingOf(at)).toEqual(after);
  const jobs = await queryRows(
    at.ctx.db,
    sql`SELECT 1 FROM suppression WHERE customer_id = ${at.customerId} AND reason = 'complaint'`,
  );
  expect(jobs).toHaveLength(1);
});

test('what came back is in the history of the person, once for each report that is new', async () => {
  const at = await reportedWorld(root);
  const soft: DeliveryReportInput = { messageId: at.messageId, type: 'bounced', bounceType: 'soft' };
  for (const report of [soft, soft, { ...soft, bounceType: 'hard' as const }, { ...soft, type: 'abuse' as const }])
    await recordDeliveryReport(at.ctx, report);
  const events = await queryRows<{ kind: number; data: unknown; isRecent: boolean }>(
    at.ctx.db,
    sql`SELECT kind, data, at > now() - interval '1 hour' AS "isRecent" FROM hot.person_event
         WHERE customer_id = ${at.customerId} AND person_id = ${at.subscriberId} AND kind <> 1 ORDER BY id`,
  );
  expect(events.map(({ kind, data, isRecent }) => [personEventKind(kind), data, isRecent])).toEqual([
    ['bounced', { type: 'soft' }, true],
    ['bounced', { type: 'hard' }, true],
    ['unsubscribed', null, true],
    ['complained', { type: 'abuse' }, true],
  ]);
});

test('of forty equal reports at once one has an effect', async () => {
  const at = await reportedWorld(root);
  const reports = Array.from({ length: 40 }, (_, n): DeliveryReportInput =>
    n % 2
      ? { messageId: at.messageId, type: 'bounced', bounceType: 'hard' }
      : { messageId: at.messageId, type: 'abuse' },
  );
  const outcomes = await Promise.all(reports.map((report) => recordDeliveryReport(at.ctx, report)));
  expect(outcomes.filter(({ changed }) => changed)).toHaveLength(2);
  expect(await standingOf(at)).toMatchObject({
    bounces: 1,
    complaints: 1,
    counted: [1, 0, 1, 1],
    status: 'unsubscribed',
  });
});

test('that a message of unknown fate arrived closes it', async () => {
  const at = await reportedWorld(root, { state: 'unknown' });
  expect(await recordDeliveryReport(at.ctx, { messageId: at.messageId, type: 'sent' })).toMatchObject({
    changed: true,
  });
  expect(await standingOf(at)).toEqual(untouched);
  expect(await recordDeliveryReport(at.ctx, { messageId: at.messageId, type: 'sent' })).toMatchObject({
    changed: false,
  });
});

test("a driver's own id leads to the delivery, with or without brackets, since its outcome was recorded", async () => {
  const at = await reportedWorld(root, { state: 'failed' });
  const { customerId, campaignId, subscriberId, ctx } = at;
  const owner = crypto.randomUUID();
  await ctx.db.execute(
    sql`UPDATE hot.delivery SET state = 'sending', owner = ${owner}::uuid WHERE source_id = ${campaignId}`,
  );
  await ctx.db.execute(sql`UPDATE hot.delivery_counter SET failed = 0, open = 1 WHERE source_id = ${campaignId}`);
  const [day] = await queryRows<{ day: string }>(ctx.db, sql`SELECT current_date::text AS day`);
  const runtimeMessageId = `<vendor-${newUid()}@api.example>`;
  const outcome = {
    recipientId: subscriberId,
    occurrence: 0n,
    epoch: 0,
    state: 'sent',
    isTry: true,
    reply: 'ok',
    reason: null,
    delaySeconds: 0,
  } as const;
  const settled = await settle(ctx.db, {
    key: ledgerOfCampaign({ customerId, campaignId, snapshotOn: day?.day ?? '' }),
    ...{ holder: { owner, leaseSeconds: 60 }, serverId: null, next: [], contentVersion: null },
    outcomes: [{ ...outcome, runtimeMessageId }],
  });
  expect(settled.recorded).toBe(1);
  const plain = runtimeMessageId.slice(1, -1);
  expect(await recordDeliveryReport(ctx, { messageId: plain, type: 'bounced', bounceType: 'hard' })).toMatchObject({
    changed: true,
  });
  expect(await recordDeliveryReport(ctx, { messageId: runtimeMessageId, type: 'abuse' })).toMatchObject({
    changed: true,
  });
  expect(await standingOf(at)).toMatchObject({ counted: [1, 0, 1, 1] });
});

test('our own Message-IDs leave no row to find them by', async () => {
  const at = await reportedWorld(root);
  const key = ledgerOfCampaign({ customerId: at.customerId, campaignId: at.campaignId, snapshotOn: '2026-01-01' });
  const outcome = {
    recipientId: 1n,
    occurrence: 0n,
    epoch: 0,
    state: 'sent',
    isTry: true,
    reply: 'ok',
    reason: null,
    delaySeconds: 0,
  } as const;
  await settle(at.ctx.db, {
    key,
    ...{
      holder: { owner: crypto.randomUUID(), leaseSeconds: 60 },
      serverId: null,
      next: [],
      contentVersion: null,
    },
    outcomes: [{ ...outcome, runtimeMessageId: at.messageId }],
  });
  expect(await queryRows(at.ctx.db, sql`SELECT 1 FROM hot.runtime_message WHERE source_id = ${at.campaignId}`)).toEqual(
    [],
  );
});

test('forged reports have no effect: 1,000 of them (B8)', async () => {
  const at = await reportedWorld(root, { runtimeMessageId: 'vendor-0001' });
  const old = await reportedWorld(root, { daysAgo: 31, runtimeMessageId: `vendor-${newUid()}` });
  const stranger = await createTenant(root);
  const mark = /^<mail\.([0-9a-z]+)@/.exec(at.messageId)?.[1] ?? '';
  const types = ['bounced', 'abuse', 'failed', 'reported', 'sent'] as const;
  const forged = Array.from({ length: 1_000 }, (_, n): [Context, string] => {
    switch (n % 5) {
      case 0:
        return [at.ctx, `<mail.${withOtherDigit(mark, n)}@sender.example>`];
      case 1:
        return [stranger, n % 2 ? at.messageId : 'vendor-0001'];
      case 2:
        return [old.ctx, old.messageId];
      case 3:
        return [at.ctx, `vendor-${String(n + 1).padStart(4, '0')}`];
      default:
        // The code of one message under the numbers of another.
        return [at.ctx, `<mail.${underOtherIds(mark, n)}@sender.example>`];
    }
  });
  const outcomes = await Promise.all(
    forged.map(([ctx, messageId], n) =>
      recordDeliveryReport(ctx, { messageId, type: types[n % 5] ?? 'abuse', bounceType: 'hard' }).catch(
        (error: unknown) => error,
      ),
    ),
  );
  expect(outcomes.filter((outcome) => !(outcome instanceof Error))).toEqual([]);
  expect(outcomes.filter((outcome) => outcome instanceof ForeignResourceError)).toHaveLength(200);
  expect(outcomes.filter((outcome) => outcome instanceof WrongStateError)).toHaveLength(200);
  expect(outcomes.filter((outcome) => outcome instanceof NotFoundError)).toHaveLength(600);
  expect(await standingOf(at)).toEqual(untouched);
  expect(await standingOf(old)).toEqual(untouched);
});

test('what never left the house cannot have bounced', async () => {
  const at = await reportedWorld(root, { state: 'failed' });
  await expect(recordDeliveryReport(at.ctx, { messageId: at.messageId, type: 'abuse' })).rejects.toThrow(
    WrongStateError,
  );
});

test('an administrator may report about everybody’s messages, another token may not', async () => {
  const at = await reportedWorld(root);
  const admin = await createTenant(root);
  const viewer = admin.viewer && { ...admin.viewer, isAdmin: true };
  const report: DeliveryReportInput = { messageId: at.messageId, type: 'abuse' };
  const narrow = viewer && { ...viewer, scopes: ['campaigns:write'] };
  await expect(recordDeliveryReport({ ...admin, viewer: narrow }, report)).rejects.toThrow(ForeignResourceError);
  expect(await recordDeliveryReport({ ...admin, viewer }, report)).toMatchObject({ changed: true });
});

test('people who are gone get no rows; wrong input is named', async () => {
  const at = await reportedWorld(root);
  await at.ctx.db.execute(sql`DELETE FROM subscriber WHERE id = ${at.subscriberId}`);
  const report: DeliveryReportInput = { messageId: at.messageId, type: 'bounced', bounceType: 'hard' };
  expect(await recordDeliveryReport(at.ctx, report)).toMatchObject({ changed: false });
  expect(await standingOf(at)).toMatchObject({ bounces: 0, suppressed: false });
  await expect(recordDeliveryReport(at.ctx, { ...report, messageId: '' })).rejects.toThrow(ValidationError);
});

test('the status code is found in what servers say', () => {
  const said = ['550 5.1.1 <x@y.example>: unknown', 'smtp; 452 4.2.2 full', 'from 192.5.1.1 refused', '', null];
  expect(said.map(statusCodeIn)).toEqual(['5.1.1', '4.2.2', null, null, null]);
});
