/**
 * Reads and writes of tests of a campaign's message: one row per requested address. What became of it is in the ledger, under the
 * message that the test is the cause of.
 */
import { sql, row, typed, type Queryable, type RowOf } from '../../../db/database.ts';
import type { CampaignKey } from '../../statistics/campaign-key.ts';

/** One that stays `sending` may have been sent: the process died. */
export type TestMessageState = 'queued' | 'sending' | 'sent' | 'failed' | 'suppressed';

/** A text for each code; null: the reply says it. */
const TEXTS = {
  no_server: 'There is no sending server that can be used.',
  no_plan: 'There was no running subscription any more when the test was to be sent.',
  suppressed: 'The address is suppressed.',
  not_composed: null,
} as const;

export type TestReason = keyof typeof TEXTS;

/** The result of a test, as its author reads it. */
export function testReply({ reason, reply }: Pick<TestMessage, 'reason' | 'reply'>): string | null {
  return reason === null ? reply : (TEXTS[reason] ?? reply);
}

const TEST_MESSAGE_ROW = row({
  id: 'bigint',
  email: 'text',
  state: typed<TestMessageState>('text'),
  /** Why it was not sent; null: it was sent, is not decided yet, or the server refused it (`reply`). */
  reason: typed<TestReason>('text?'),
  /** The server's reply, or what is wrong with the message. */
  reply: 'text?',
  createdAt: 'timestamptz',
});
export type TestMessage = RowOf<typeof TEST_MESSAGE_ROW>;

interface NewTests {
  readonly campaign: CampaignKey;
  /** The recipients, and whose values are used; null: sample values. */
  readonly readers: readonly { readonly email: string; readonly subscriberId: bigint | null }[];
  readonly isMarked: boolean;
}

/** How long results of tests are kept. */
const KEPT_DAYS = 30;
const COLUMNS = sql`id, email, state, reason, reply, created_at AS "createdAt"`;

/** The cause of a test's message. */
export function testCause(id: bigint): string {
  return `test ${id}`;
}

/**
 * The test as the ledger has it. Those of the version before have no message: their rows say it. Without a reply nobody knows what
 * became of one whose process died.
 */
const OUTCOME = sql`
  LEFT JOIN LATERAL (
    SELECT d.reply, d.reason, CASE d.state WHEN 'leased' THEN 'queued' WHEN 'skipped' THEN 'failed'
                                           WHEN 'unknown' THEN CASE WHEN d.reply IS NULL THEN 'sending' ELSE 'failed' END ELSE d.state::text END AS state
      FROM hot.message m
      JOIN hot.delivery d ON d.snapshot_on = m.snapshot_on AND d.customer_id = m.customer_id AND d.source_kind = m.source_kind
       AND d.source_id = m.source_id AND d.recipient_id = m.recipient_id AND d.occurrence = m.id
     WHERE m.customer_id = t.customer_id AND m.cause = 'test ' || t.id) o ON true`;
const SEEN = sql`t.id, t.email, coalesce(o.state, t.state) AS state, t.created_at AS "createdAt",
  CASE WHEN o.state IS NULL THEN t.reason WHEN o.reason IN ('no_server', 'no_plan', 'suppressed', 'not_composed') AND o.state <> 'queued' THEN o.reason END AS reason,
  coalesce(o.reply, t.reply) AS reply`;

/** Writes them, and deletes the customer's old ones. */
export async function insertTests(db: Queryable, { campaign, readers, isMarked }: NewTests): Promise<TestMessage[]> {
  await db.execute(
    sql`DELETE FROM test_message WHERE customer_id = ${campaign.customerId} AND created_at < now() - make_interval(days => ${KEPT_DAYS})`,
  );
  return db.query(
    TEST_MESSAGE_ROW,
    sql`
    INSERT INTO test_message (customer_id, campaign_id, email, subscriber_id, is_marked)
    SELECT ${campaign.customerId}, ${campaign.campaignId}, email, subscriber_id, ${isMarked}
      FROM unnest(${readers.map(({ email }) => email)}::text[], ${readers.map(({ subscriberId }) => subscriberId)}::bigint[])
             WITH ORDINALITY AS r (email, subscriber_id, no) ORDER BY no
    RETURNING ${COLUMNS}`,
  );
}

const WAITING_TEST_ROW = row({
  id: 'bigint',
  email: 'text',
  subscriberId: 'bigint?',
  isMarked: 'bool',
});

/** Those of these tests that were not taken by the version before. */
export function waitingTests(
  db: Queryable,
  customerId: bigint,
  ids: readonly bigint[],
): Promise<RowOf<typeof WAITING_TEST_ROW>[]> {
  return db.query(
    WAITING_TEST_ROW,
    sql`SELECT id, email, subscriber_id AS "subscriberId", is_marked AS "isMarked" FROM test_message
         WHERE customer_id = ${customerId} AND id = ANY (${[...ids]}::bigint[]) AND state = 'queued' ORDER BY id`,
  );
}

const LATEST_TEST_ROW = row({
  ...TEST_MESSAGE_ROW,
  campaignId: 'bigint',
});

/** The latest tests of each of these campaigns, the newest first, in the order of the campaigns. */
export async function latestTestsOfEach(
  db: Queryable,
  { customerId, campaignIds }: { customerId: bigint; campaignIds: readonly bigint[] },
  limit: number,
): Promise<TestMessage[][]> {
  const tests = await db.query(
    LATEST_TEST_ROW,
    sql`
    SELECT c.id AS "campaignId", t.* FROM unnest(${[...campaignIds]}::bigint[]) AS c(id)
     CROSS JOIN LATERAL (SELECT ${SEEN} FROM test_message t ${OUTCOME}
                          WHERE t.customer_id = ${customerId} AND t.campaign_id = c.id ORDER BY t.id DESC LIMIT ${limit}) t
     ORDER BY t.id DESC`,
  );
  return campaignIds.map((id) => tests.filter(({ campaignId }) => campaignId === id));
}
