/**
 * One person gets several messages that have much in common: a campaign's, and two of an automation whose id is the same. Their rows
 * live beside each other, and nothing that happens to one happens to another: outcomes, opens, clicks, bounces, unsubscribes.
 */
import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { byRecipient, type DeliveryOutcome, type LedgerKey } from '../../../src/domain/delivery/ledger/delivery.ts';
import { inLedger } from '../../../src/domain/delivery/ledger/ledger-read-model.ts';
import { dueInRange, leaseRange, renewLeases, settle } from '../../../src/domain/delivery/ledger/ledger-store.ts';
import { decideUnknown, resolveUnknownAsSent } from '../../../src/domain/delivery/ledger/unknown-outcome-store.ts';
import { recordRefusals } from '../../../src/domain/bounces/record-refusals.ts';
import { SOURCE_KINDS, type DeliveryKey } from '../../../src/domain/source-key.ts';
import { ofSource } from '../../../src/domain/statistics/source-read-model.ts';
import { deliveryMessageId } from '../../../src/domain/tracking/delivery-message-id.ts';
import { linkSignerOf } from '../../../src/domain/tracking/link-signer.ts';
import { deliveriesNamed } from '../../../src/domain/tracking/record-delivery-report.ts';
import { recordUnsubscribe } from '../../../src/domain/tracking/record-unsubscribe.ts';
import { reportOnDelivery } from '../../../src/domain/tracking/report-on-delivery.ts';
import { parseReturnPath, returnPathOf } from '../../../src/domain/tracking/return-path.ts';
import type { TrackedRecipient } from '../../../src/domain/tracking/tracking.ts';
import { seedCampaign, type SeededCampaign } from '../../support/audience-rows.ts';
import { recordTrackingEvents } from '../../support/record-tracking-events.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
const { db, installation } = ctx;
await db.execute(sql`SELECT hot.ensure_partitions(current_date, current_date)`);
const visitor = { ip: '192.0.2.7', userAgent: 'Reader/1', isMachine: false, looksAhead: false };
const EVERYBODY = { fromId: 0n, toId: 2n ** 62n };

let seeded: SeededCampaign;
let mail: TrackedRecipient;
let first: TrackedRecipient;
let second: TrackedRecipient;
let automation: LedgerKey;
let campaign: LedgerKey;

/** The state of the campaign's message, and of the automation's first and second. */
async function states(): Promise<string[]> {
  const rows = await queryRows<{ state: string }>(
    db,
    sql`SELECT state::text AS state FROM hot.delivery WHERE customer_id = ${seeded.customerId} ORDER BY source_kind, occurrence`,
  );
  return rows.map(({ state }) => state);
}

/** What came back of each of the three: a row for a message of which something did. */
function activities() {
  return queryRows(
    db,
    sql`
    SELECT source_kind AS kind, occurrence::int AS occurrence, open_count AS opens, click_count AS clicks, bounce_type AS bounce,
           unsubscribed_at IS NOT NULL AS unsubscribed
      FROM hot.recipient_activity WHERE customer_id = ${seeded.customerId} ORDER BY 1, 2`,
  );
}

async function counters(key: LedgerKey) {
  const [row] = await queryRows(
    db,
    sql`SELECT audience, open, sent, failed, unknown FROM hot.delivery_counter c WHERE ${ofSource('c', key)}`,
  );
  return row;
}

function outcome(key: DeliveryKey, given: Partial<DeliveryOutcome>): DeliveryOutcome {
  const { recipientId, occurrence } = key;
  return {
    ...{ recipientId, occurrence, epoch: 1, state: 'sent', isTry: true, reply: '250 ok', reason: null },
    ...{ runtimeMessageId: null, delaySeconds: 0 },
    ...given,
  };
}

beforeEach(async () => {
  seeded = await seedCampaign(db, { subscribers: 1 });
  const { customerId, listId, campaignId, subscriberIds } = seeded;
  const [day] = await queryRows<{ day: string }>(
    db,
    sql`UPDATE campaign SET status = 'sending', snapshot_on = current_date WHERE id = ${campaignId} RETURNING snapshot_on::text AS day`,
  );
  const person = { customerId, listId, sourceId: campaignId, recipientId: subscriberIds[0] ?? 0n, occurrence: 0n };
  mail = { ...person, sourceKind: SOURCE_KINDS.campaign };
  first = { ...person, sourceKind: SOURCE_KINDS.automation };
  second = { ...first, occurrence: 1n };
  campaign = { customerId, sourceKind: mail.sourceKind, sourceId: campaignId, snapshotOn: day?.day ?? '' };
  automation = { ...campaign, sourceKind: first.sourceKind };
  for (const { sourceKind, sourceId, recipientId, occurrence } of [mail, first, second])
    await db.execute(sql`
      INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, occurrence, list_id, email, updated_at)
      VALUES (current_date, ${customerId}, ${sourceKind}, ${sourceId}, ${recipientId}, ${occurrence}, ${listId}, 'p1@example.org', now() - interval '1 hour')`);
  await db.execute(sql`
    INSERT INTO hot.delivery_counter (customer_id, source_kind, source_id, audience, open)
    SELECT customer_id, source_kind, source_id, count(*), count(*) FROM hot.delivery WHERE customer_id = ${customerId} GROUP BY 1, 2, 3`);
});

const holder = () => ({ owner: randomUUID(), leaseSeconds: 45 });

test('each is due, marked and recorded by itself', async () => {
  const due = await dueInRange(db, { ...automation, ...EVERYBODY });
  expect(due.map(({ occurrence }) => occurrence)).toEqual([0n, 1n]);
  const own = { holder: holder(), serverId: 1n, contentVersion: null };
  const next = due.map((row) => ({ ...row, email: row.email ?? '' }));
  const stale = next.map((row) => (row.occurrence === 1n ? { ...row, epoch: 7 } : row));
  const marked = await settle(db, { ...own, key: automation, outcomes: [], next: stale });
  expect([...marked.notMarked].map(({ occurrence }) => occurrence)).toEqual([1n]);
  expect(await states()).toEqual(['queued', 'sending', 'queued']);
  await settle(db, { ...own, key: automation, outcomes: [], next: next.slice(1) });
  const outcomes = [outcome(first, {}), outcome(second, { state: 'failed', reply: '550 no' })];
  expect((await settle(db, { ...own, key: automation, outcomes, next: [] })).recorded).toBe(2);
  expect(await states()).toEqual(['queued', 'sent', 'failed']);
  expect(await counters(automation)).toEqual({ audience: 2, open: 0, sent: 1, failed: 1, unknown: 0 });
  expect(await counters(campaign)).toMatchObject({ audience: 1, open: 1 });
});

test('leases, late answers and decisions by hand are of one', async () => {
  const [mine, other] = [holder(), holder()];
  const range = { ...automation, ...EVERYBODY };
  await db.execute(
    sql`UPDATE hot.delivery d SET not_before = now() + interval '1 hour' WHERE ${inLedger(automation)} AND d.occurrence = 1`,
  );
  expect((await leaseRange(db, range, mine)).map(({ occurrence }) => occurrence)).toEqual([0n]);
  await db.execute(
    sql`UPDATE hot.delivery d SET state = 'leased', owner = ${other.owner}::uuid, epoch = 1, not_before = NULL WHERE ${inLedger(automation)} AND d.occurrence = 1`,
  );
  await db.execute(
    sql`UPDATE hot.delivery d SET lease_expires_at = now() + interval '10 seconds' WHERE ${inLedger(automation)}`,
  );
  await renewLeases(db, range, mine);
  const long = await queryRows(
    db,
    sql`SELECT occurrence FROM hot.delivery d WHERE ${inLedger(automation)} AND lease_expires_at > now() + interval '30 seconds'`,
  );
  expect(long).toEqual([{ occurrence: 0n }]);
  const unanswered = (key: DeliveryKey) => [outcome(key, { state: 'unknown', reply: null, reason: 'no_answer' })];
  const own = { key: automation, serverId: 1n, next: [], contentVersion: null };
  await settle(db, { ...own, holder: mine, outcomes: unanswered(first) });
  await settle(db, { ...own, holder: other, outcomes: unanswered(second) });
  expect(await states()).toEqual(['queued', 'unknown', 'unknown']);
  await resolveUnknownAsSent(db, automation, { owner: other.owner, late: [outcome(second, {})] });
  expect(await states()).toEqual(['queued', 'unknown', 'sent']);
  expect(await decideUnknown(db, campaign, 'accept')).toBe(0);
  expect(await decideUnknown(db, automation, 'resend')).toBe(1);
  expect(await counters(automation)).toEqual({ audience: 2, open: 1, sent: 1, failed: 0, unknown: 0 });
});

test('opens and clicks are counted for the message whose links were used', async () => {
  await db.execute(sql`UPDATE hot.delivery SET state = 'sent' WHERE customer_id = ${seeded.customerId}`);
  const signer = linkSignerOf(installation);
  const tokenOf = (address: string) => new URL(address).pathname.split('/')[2] ?? '';
  const opened = async (whose: TrackedRecipient) => {
    const recipient = signer.read('open', tokenOf(signer.forRecipient(whose).open()).replace(/\.gif$/, ''));
    expect(recipient).toEqual(whose);
    if (recipient) await recordTrackingEvents(ctx, [{ recipient, visitor, linkNo: null, url: null }]);
  };
  const clicked = async (whose: TrackedRecipient) => {
    const recipient = signer.readClick(tokenOf(signer.forRecipient(whose).click(3, 'https://example.org/3')));
    expect(recipient).toMatchObject(whose);
    if (recipient)
      await recordTrackingEvents(ctx, [{ recipient, visitor, linkNo: recipient.linkNo, url: recipient.url }]);
  };
  await opened(first);
  await opened(first);
  await clicked(second);
  expect(await activities()).toMatchObject([
    { kind: 2, occurrence: 0, opens: 2, clicks: 0 },
    { kind: 2, occurrence: 1, opens: 1, clicks: 1 },
  ]);
  // What segments know of campaigns says nothing of an automation with the same id.
  expect(
    await queryRows(db, sql`SELECT 1 FROM hot.campaign_activity_block WHERE customer_id = ${seeded.customerId}`),
  ).toEqual([]);
  await opened(mail);
  expect((await activities())[0]).toMatchObject({ kind: 1, occurrence: 0, opens: 1, clicks: 0 });
  const events = await queryRows(
    db,
    sql`SELECT source_kind AS kind, occurrence::int AS occurrence FROM hot.click_event WHERE customer_id = ${seeded.customerId}`,
  );
  expect(events).toEqual([{ kind: 2, occurrence: 1 }]);
  const links = await queryRows(
    db,
    sql`SELECT source_kind AS kind, link_no FROM hot.link_counter WHERE customer_id = ${seeded.customerId}`,
  );
  expect(links).toEqual([{ kind: 2, link_no: 3 }]);
  await opened({ ...first, occurrence: 9n });
  expect(await activities()).toHaveLength(3);
});

test('opens count whatever the ledger says of the message, and as a rate of a list only those of campaigns', async () => {
  for (const [no, state] of ['unknown', 'queued', 'failed'].entries()) {
    await db.execute(
      sql`UPDATE hot.delivery SET state = ${state}::hot.delivery_state WHERE customer_id = ${seeded.customerId}`,
    );
    await recordTrackingEvents(ctx, [{ recipient: first, visitor, linkNo: null, url: null }]);
    expect(await activities()).toMatchObject([{ kind: 2, occurrence: 0, opens: no + 1 }]);
  }
  const ofList = () =>
    queryRows(
      db,
      sql`SELECT openers, uniq_open_count::int AS opens FROM hot.list_counter WHERE list_id = ${seeded.listId}`,
    );
  expect(await ofList()).toEqual([{ openers: 1, opens: 0 }]);
  await recordTrackingEvents(ctx, [{ recipient: mail, visitor, linkNo: null, url: null }]);
  expect(await ofList()).toEqual([{ openers: 1, opens: 1 }]);
});

test('bounces, vendors’ reports and unsubscribes are of one message', async () => {
  const own = { key: automation, holder: holder(), serverId: 1n, contentVersion: null };
  const next = [first, second].map((key) => ({ ...key, epoch: 1, email: 'p1@example.org' }));
  await settle(db, { ...own, outcomes: [], next: next.sort(byRecipient) });
  const outcomes = [
    outcome(first, { runtimeMessageId: 'vendor-1' }),
    outcome(second, { state: 'failed', reply: '452 4.2.2 full' }),
  ];
  await settle(db, { ...own, outcomes, next: [] });
  const { sourceKind, sourceId, recipientId, customerId } = second;
  await recordRefusals(ctx, { customerId, sourceKind, sourceId, messages: [{ recipientId, occurrence: 1n }] });
  expect(await activities()).toMatchObject([{ kind: 2, occurrence: 1, bounce: 'soft' }]);
  expect(await deliveriesNamed(ctx, 'vendor-1')).toMatchObject([{ sourceKind: 2, occurrence: 0n }]);
  const key = parseReturnPath(installation, returnPathOf(installation, first, 'bounces.example'));
  expect(key).toMatchObject({ sourceKind: 2, occurrence: 0n });
  const report = { kind: 'bounce', type: 'soft', statusCode: null, message: null } as const;
  expect(key && (await reportOnDelivery(ctx, key, report))).toBe('recorded');
  expect(await reportOnDelivery(ctx, mail, report)).toBe('not sent');
  const [named] = await deliveriesNamed(ctx, deliveryMessageId(installation, second, 'news.example'));
  expect(named).toMatchObject({ sourceKind: 2, occurrence: 1n });
  await recordUnsubscribe(ctx, { recipient: second, visitor, source: 'link', reason: null });
  expect(await activities()).toMatchObject([
    { kind: 2, occurrence: 0, bounce: 'soft', unsubscribed: false },
    { kind: 2, occurrence: 1, bounce: 'soft', unsubscribed: true },
  ]);
});
