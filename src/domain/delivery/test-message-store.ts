/** Reads and writes of tests of a campaign's message: one row per requested address. */
import { sql, row, typed, type Queryable, type RowOf } from '../../db/database.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';

/** One that stays `sending` may have been sent: the process died, or the server never answered. */
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

interface DueTest extends TestMessage {
  readonly subscriberId: bigint | null;
  readonly isMarked: boolean;
}

interface NewTests {
  readonly campaign: CampaignKey;
  /** The recipients, and whose values are used; null: sample values. */
  readonly readers: readonly { readonly email: string; readonly subscriberId: bigint | null }[];
  readonly isMarked: boolean;
}

/** How long results of tests are kept. */
const KEPT_DAYS = 30;
const COLUMNS = sql`id, email, state, reason, reply, created_at AS "createdAt"`;

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

const TAKEN_TEST_ROW = row({
  ...TEST_MESSAGE_ROW,
  subscriberId: 'bigint?',
  isMarked: 'bool',
});

/** Takes a test; undefined when it was taken before. */
export async function takeTest(db: Queryable, customerId: bigint, id: bigint): Promise<DueTest | undefined> {
  const [test] = await db.query(
    TAKEN_TEST_ROW,
    sql`
    UPDATE test_message SET state = 'sending', updated_at = now()
     WHERE customer_id = ${customerId} AND id = ${id} AND state = 'queued'
    RETURNING ${COLUMNS}, subscriber_id AS "subscriberId", is_marked AS "isMarked"`,
  );
  return test;
}

/** Records the result of a test. */
export async function settleTest(
  db: Queryable,
  { customerId, id }: { customerId: bigint; id: bigint },
  { state, reason, reply }: Pick<TestMessage, 'state' | 'reason' | 'reply'>,
): Promise<void> {
  await db.execute(sql`
    UPDATE test_message SET state = ${state}, reason = ${reason}, reply = ${reply}, updated_at = now()
     WHERE customer_id = ${customerId} AND id = ${id} AND state = 'sending'`);
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
     CROSS JOIN LATERAL (SELECT ${COLUMNS} FROM test_message
                          WHERE customer_id = ${customerId} AND campaign_id = c.id ORDER BY id DESC LIMIT ${limit}) t
     ORDER BY t.id DESC`,
  );
  return campaignIds.map((id) => tests.filter(({ campaignId }) => campaignId === id));
}
