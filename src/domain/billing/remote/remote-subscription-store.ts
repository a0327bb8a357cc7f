/** Subscriptions that vendors keep: writes, and the reads that the verbs need. */
import { row, sql, type Queryable, type RowOf, type Sql } from '../../../db/database.ts';
import type { ReadRemote } from './remote-answers.ts';

const REMOTE_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  subscriptionId: 'bigint',
  gatewayId: 'bigint',
  intentUid: 'text',
  remoteId: 'text',
  remotePlanId: 'text?',
  status: 'text',
  isActive: 'bool',
  isEnded: 'bool',
  periodEndsAt: 'timestamptz?',
  paidUntil: 'timestamptz?',
  wantedPlanId: 'bigint?',
  agreedRemotePlanId: 'text?',
  agreedPlanId: 'bigint?',
  methodTitle: 'text',
  methodDigest: 'text?',
  syncedAt: 'timestamptz?',
  error: 'text?',
  goneSaidAt: 'timestamptz?',
});
export type Remote = RowOf<typeof REMOTE_ROW>;

const COLUMNS = sql`
  r.customer_id AS "customerId", r.id, r.subscription_id AS "subscriptionId", r.gateway_id AS "gatewayId",
  r.intent_uid AS "intentUid", r.remote_id AS "remoteId", r.remote_plan_id AS "remotePlanId", r.status,
  r.is_active AS "isActive", r.is_ended AS "isEnded", r.period_ends_at AS "periodEndsAt", r.paid_until AS "paidUntil",
  r.wanted_plan_id AS "wantedPlanId", r.agreed_remote_plan_id AS "agreedRemotePlanId", r.agreed_plan_id AS "agreedPlanId", r.method_title AS "methodTitle", r.method_digest AS "methodDigest", r.synced_at AS "syncedAt", r.error,
  r.gone_said_at AS "goneSaidAt"`;

export type RemoteKey = Pick<Remote, 'customerId' | 'id'>;

export interface RemoteOwner {
  readonly customerId: bigint;
  readonly subscriptionId: bigint;
  readonly gatewayId: bigint;
  readonly intentUid: string;
  /** The vendor's plan that it was begun with, and ours that was paid by it. */
  readonly agreedRemotePlanId: string;
  readonly agreedPlanId: bigint;
}

/** Writes what the vendor says, for the first time or again; one that has ended stays so. */
export async function writeRemote(
  db: Queryable,
  owner: RemoteOwner,
  { remote, at }: { readonly remote: ReadRemote; readonly at: Date },
): Promise<Remote> {
  const [written] = await db.query(
    REMOTE_ROW,
    sql`
    INSERT INTO remote_subscription AS r (customer_id, subscription_id, gateway_id, intent_uid, agreed_remote_plan_id, agreed_plan_id,
                                          remote_id, remote_plan_id, status, is_active, is_ended, period_ends_at, synced_at, created_at)
    VALUES (${owner.customerId}, ${owner.subscriptionId}, ${owner.gatewayId}, ${owner.intentUid}, ${owner.agreedRemotePlanId},
            ${owner.agreedPlanId}, ${remote.id}, ${remote.planId}, ${remote.status}, ${remote.isActive}, ${remote.isEnded}, ${remote.currentPeriodEndsAt}, ${at}, ${at})
    ON CONFLICT (customer_id, gateway_id, remote_id) DO UPDATE
       SET remote_plan_id = EXCLUDED.remote_plan_id, status = EXCLUDED.status, is_active = EXCLUDED.is_active,
           is_ended = r.is_ended OR EXCLUDED.is_ended, period_ends_at = EXCLUDED.period_ends_at, synced_at = EXCLUDED.synced_at
    RETURNING ${COLUMNS}`,
  );
  if (!written) throw new Error('A written subscription of a vendor came back empty.');
  return written;
}

/** One that was seen for the first time, and of which the vendor does not say yet what was paid: not ended, and not read. A known one stays as it is. */
export async function writeUnread(
  db: Queryable,
  owner: RemoteOwner,
  seen: { readonly remote: ReadRemote; readonly error: string; readonly at: Date; readonly nextSyncAt: Date },
): Promise<void> {
  await db.execute(sql`
    INSERT INTO remote_subscription (customer_id, subscription_id, gateway_id, intent_uid, agreed_remote_plan_id, agreed_plan_id,
                                     remote_id, status, is_active, is_ended, next_sync_at, error, created_at)
    VALUES (${owner.customerId}, ${owner.subscriptionId}, ${owner.gatewayId}, ${owner.intentUid}, ${owner.agreedRemotePlanId},
            ${owner.agreedPlanId}, ${seen.remote.id}, ${seen.remote.status}, ${seen.remote.isActive}, false, ${seen.nextSyncAt}, ${seen.error}, ${seen.at})
    ON CONFLICT (customer_id, gateway_id, remote_id) DO NOTHING`);
}

/** The period up to `until` is paid and counted; false when it was before. */
export async function countPaid(db: Queryable, { customerId, id }: RemoteKey, until: Date): Promise<boolean> {
  const counted = await db.execute(sql`
    UPDATE remote_subscription SET paid_until = ${until}
     WHERE customer_id = ${customerId} AND id = ${id} AND (paid_until IS NULL OR paid_until < ${until})`);
  return counted === 1;
}

export async function noteRemote(
  db: Queryable,
  { customerId, id }: RemoteKey,
  { error, nextSyncAt }: { readonly error: string | null; readonly nextSyncAt: Date | null },
): Promise<void> {
  await db.execute(sql`
    UPDATE remote_subscription SET error = ${error}, next_sync_at = ${nextSyncAt} WHERE customer_id = ${customerId} AND id = ${id}`);
}

/**
 * The vendor says that it does not know it. It ends when that was said before `confirmed` already, and is read at `again` if not. True: it has
 * ended. What the vendor itself has called ended stays so, and is not read again.
 */
export async function writeGone(
  db: Queryable,
  { customerId, id }: RemoteKey,
  times: { readonly error: string; readonly at: Date; readonly confirmed: Date; readonly again: Date },
): Promise<boolean> {
  const { error, at, confirmed, again } = times;
  const [written] = await db.query(
    { isEnded: 'bool' },
    sql`
    UPDATE remote_subscription r
       SET gone_said_at = CASE WHEN r.is_ended THEN r.gone_said_at ELSE coalesce(r.gone_said_at, ${at}) END, is_ended = g.is_believed, is_active = r.is_active AND NOT g.is_believed,
           synced_at = CASE WHEN g.is_believed THEN ${at}::timestamptz ELSE r.synced_at END,
           next_sync_at = CASE WHEN g.is_believed THEN NULL ELSE ${again}::timestamptz END, error = ${error}
      FROM (SELECT x.id, x.is_ended OR coalesce(x.gone_said_at <= ${confirmed}, false) AS is_believed
              FROM remote_subscription x WHERE x.customer_id = ${customerId} AND x.id = ${id}) g
     WHERE r.customer_id = ${customerId} AND r.id = g.id
    RETURNING r.is_ended AS "isEnded"`,
  );
  return written?.isEnded ?? true;
}

/** The vendor shows it: what it said about not knowing it was wrong, as with other keys. */
export async function reviveGone(
  db: Queryable,
  { customerId, gatewayId }: Pick<RemoteOwner, 'customerId' | 'gatewayId'>,
  remoteId: string,
): Promise<void> {
  await db.execute(sql`
    UPDATE remote_subscription SET is_ended = false, gone_said_at = NULL
     WHERE customer_id = ${customerId} AND gateway_id = ${gatewayId} AND remote_id = ${remoteId} AND gone_said_at IS NOT NULL`);
}

/** Whether another subscription at the vendor, begun by the same payment, has paid a period. */
export async function hasPaidSibling(
  db: Queryable,
  { customerId, gatewayId, intentUid, id }: Remote,
): Promise<boolean> {
  const found = await db.execute(sql`
    SELECT 1 FROM remote_subscription r
     WHERE r.customer_id = ${customerId} AND r.gateway_id = ${gatewayId} AND r.intent_uid = ${intentUid} AND r.id <> ${id}
       AND r.paid_until IS NOT NULL LIMIT 1`);
  return found > 0;
}

/** Null: no change is wanted. */
export async function wantPlan(db: Queryable, { customerId, id }: RemoteKey, planId: bigint | null): Promise<void> {
  await db.execute(
    sql`UPDATE remote_subscription SET wanted_plan_id = ${planId} WHERE customer_id = ${customerId} AND id = ${id}`,
  );
}

/** The vendor's present plan is the one that this plan of ours was paid with. */
export async function agreePlan(db: Queryable, { customerId, id }: RemoteKey, planId: bigint): Promise<void> {
  await db.execute(sql`
    UPDATE remote_subscription SET agreed_remote_plan_id = remote_plan_id, agreed_plan_id = ${planId}
     WHERE customer_id = ${customerId} AND id = ${id} AND remote_plan_id IS NOT NULL`);
}

export async function writeRemoteMethod(
  db: Queryable,
  { customerId, id }: RemoteKey,
  { title, info, digest }: { readonly title: string; readonly info: string; readonly digest: string },
): Promise<void> {
  await db.execute(sql`
    UPDATE remote_subscription SET method_title = ${title}, method_info = ${info}, method_digest = ${digest} WHERE customer_id = ${customerId} AND id = ${id}`);
}

export function findRemote(db: Queryable, { customerId, id }: RemoteKey): Promise<Remote | undefined> {
  return findOne(db, sql`r.customer_id = ${customerId} AND r.id = ${id}`);
}

/**
 * Those that may still take money, of a subscription, of a customer, or of a gateway. One that the vendor says not to know is among them: with the
 * right keys it may be there.
 */
export function liveRemotes(
  db: Queryable,
  of: { readonly customerId: bigint; readonly subscriptionId?: bigint } | { readonly gatewayId: bigint },
): Promise<Remote[]> {
  const whose = 'gatewayId' in of ? sql`r.gateway_id = ${of.gatewayId}` : sql`r.customer_id = ${of.customerId}`;
  const ofOne =
    'gatewayId' in of || of.subscriptionId === undefined ? sql`` : sql`AND r.subscription_id = ${of.subscriptionId}`;
  return db.query(
    REMOTE_ROW,
    sql`SELECT ${COLUMNS} FROM remote_subscription r
         WHERE ${whose} AND (NOT r.is_ended OR r.gone_said_at IS NOT NULL) ${ofOne} ORDER BY r.id`,
  );
}

/** Of all customers, the oldest first. */
export function dueRemotes(db: Queryable, at: Date, max: number): Promise<Remote[]> {
  return db.query(
    REMOTE_ROW,
    sql`SELECT ${COLUMNS} FROM remote_subscription r WHERE r.next_sync_at <= ${at} ORDER BY r.next_sync_at LIMIT ${max}`,
  );
}

async function findOne(db: Queryable, where: Sql): Promise<Remote | undefined> {
  const [found] = await db.query(REMOTE_ROW, sql`SELECT ${COLUMNS} FROM remote_subscription r WHERE ${where} LIMIT 1`);
  return found;
}
