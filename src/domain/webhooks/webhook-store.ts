/** Writes of webhooks, and the reads that the verbs need. */
import { empty, join, row, sql, type Queryable, type RowOf, type Sql } from '../../db/database.ts';
import { lockUntilCommit } from '../../db/lock.ts';
import { assignments, columnsOf, insertion, selectList } from '../../db/fields.ts';
import { webhookColumns, webhookFields } from './webhook-fields.ts';
import type { Webhook, WebhookKey, WebhookValues } from './webhook.ts';
import type { WebhookEvent, WebhookKind } from './webhook-events.ts';

const WEBHOOK_ROW = columnsOf(webhookColumns);

/** The operator's account has what belongs to the installation, so that no administrator who leaves takes it along. */
export async function ownerOfLifecycle(db: Queryable, customerId: bigint): Promise<bigint> {
  const [owner] = await db.query(
    { id: 'bigint' },
    sql`SELECT coalesce((SELECT id FROM customer WHERE is_operator ORDER BY id LIMIT 1), ${customerId}::bigint) AS id`,
  );
  return owner?.id ?? customerId;
}

export async function insertWebhook(db: Queryable, webhook: WebhookValues): Promise<Webhook> {
  const [found] = await db.query(
    WEBHOOK_ROW,
    sql`INSERT INTO webhook ${insertion(webhookFields, webhook)} RETURNING ${selectList(webhookColumns)}`,
  );
  if (!found) throw new Error('An inserted webhook came back empty.');
  return found;
}

/** Writes the given values. */
export async function updateWebhookRow(
  db: Queryable,
  { customerId, id }: WebhookKey,
  changes: WebhookValues,
): Promise<void> {
  const written = [sql`updated_at = now()`, ...assignments(webhookFields, changes)];
  await db.execute(sql`UPDATE webhook SET ${join(written)} WHERE customer_id = ${customerId} AND id = ${id}`);
}

export async function deleteWebhookRow(db: Queryable, { customerId, id }: WebhookKey): Promise<void> {
  await db.execute(sql`DELETE FROM webhook WHERE customer_id = ${customerId} AND id = ${id}`);
}

/** `lock` prevents others from changing or deleting it. */
export async function findWebhookByUid(db: Queryable, uid: string, lock = false): Promise<Webhook | undefined> {
  const [found] = await db.query(
    WEBHOOK_ROW,
    sql`SELECT ${selectList(webhookColumns)} FROM webhook WHERE uid = ${uid} ${lock ? sql`FOR UPDATE` : empty}`,
  );
  return found;
}

/** Of the installation, or of the customer itself. Who counts in another transaction waits until this one has ended. */
export async function lockAndCountWebhooks(db: Queryable, customerId: bigint, kind: WebhookKind): Promise<number> {
  await lockUntilCommit(db, `mailwright:webhooks:${customerId}`);
  const [found] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM webhook WHERE customer_id = ${customerId} AND (kind = 'lifecycle') = ${kind === 'lifecycle'}`,
  );
  return found?.count ?? 0;
}

const LISTENING_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  kind: webhookFields.kind.type,
  event: webhookFields.event.type,
  listId: 'bigint?',
  campaignId: 'bigint?',
  templateId: 'bigint?',
  withMachines: 'bool',
  createdAt: 'timestamptz',
});
/** A webhook that is not inactive, and what it asks for. */
export type ListeningWebhook = RowOf<typeof LISTENING_ROW>;

/** The webhooks of these events that are not inactive: those of the installation, and those of these customers. */
export function listeningWebhooks(db: Queryable, events: readonly WebhookEvent[], customerIds: readonly bigint[] = []) {
  return db.query(
    LISTENING_ROW,
    sql`SELECT customer_id AS "customerId", id, kind, event, list_id AS "listId", campaign_id AS "campaignId", template_id AS "templateId",
               with_machines AS "withMachines", created_at AS "createdAt" FROM webhook
         WHERE (kind = 'lifecycle' OR customer_id = ANY (${[...customerIds]}::bigint[])) AND status <> 'inactive'
           AND event = ANY (${[...events]}::text[]) ORDER BY id`,
    'webhooks.listening',
  );
}

/** The customer's campaign with this uid. */
export async function findCampaignId(db: Queryable, customerId: bigint, uid: string): Promise<bigint | undefined> {
  const [found] = await db.query(
    { id: 'bigint' },
    sql`SELECT id FROM campaign WHERE customer_id = ${customerId} AND uid = ${uid}`,
  );
  return found?.id;
}

/** Campaigns with their lists, which may be gone. */
export function campaignsOf(db: Queryable, uids: readonly string[]) {
  return db.query(
    { uid: 'text', id: 'bigint', listId: 'bigint', listUid: 'text?' },
    sql`SELECT c.uid, c.id, c.list_id AS "listId", l.uid AS "listUid"
          FROM campaign c LEFT JOIN mail_list l ON l.customer_id = c.customer_id AND l.id = c.list_id
         WHERE c.uid = ANY (${[...uids]}::text[])`,
    'webhooks.campaigns',
  );
}

/** These webhooks. */
function those(keys: readonly WebhookKey[]): Sql {
  return sql`unnest(${keys.map(({ customerId }) => customerId)}::bigint[], ${keys.map(({ id }) => id)}::bigint[]) AS k(customer_id, id)`;
}

/** The last attempt of each succeeded. They are locked. */
export async function clearFailing(db: Queryable, keys: readonly WebhookKey[]): Promise<void> {
  await db.execute(
    sql`UPDATE webhook w SET failing_since = NULL FROM ${those(keys)} WHERE w.customer_id = k.customer_id AND w.id = k.id`,
    'webhooks.clear_failing',
  );
}

/**
 * Whoever changes a webhook and what waits for it locks the webhook first, so that two writers wait for each other only one way. Answers
 * those with failures.
 */
export async function lockWebhooks(db: Queryable, keys: readonly WebhookKey[]): Promise<WebhookKey[]> {
  const rows = await db.query(
    { customerId: 'bigint', id: 'bigint', isFailing: 'bool' },
    sql`SELECT w.customer_id AS "customerId", w.id, w.failing_since IS NOT NULL AS "isFailing" FROM ${those(keys)} JOIN webhook w USING (customer_id, id)
         ORDER BY w.customer_id, w.id FOR NO KEY UPDATE OF w`,
    'webhooks.lock',
  );
  return rows.filter(({ isFailing }) => isFailing);
}

/** A webhook of which an attempt failed. */
export interface FailedWebhook extends WebhookKey {
  /** Its receiver said so. */
  readonly isGone: boolean;
  /** A retry failed, or the last try: one failure alone pauses nothing. */
  readonly isRepeated: boolean;
}

export interface FailureLimits {
  /** Nothing but failures for so long pauses. */
  readonly days: number;
  /** Failures further apart do not belong together: in between nothing was tried. */
  readonly gapSeconds: number;
}

/** Notes that an attempt of each failed, and pauses those that are gone and those with nothing but failures for too long. Answers the paused ones. */
export function noteFailures(db: Queryable, failed: readonly FailedWebhook[], { days, gapSeconds }: FailureLimits) {
  return db.query(
    { customerId: 'bigint', id: 'bigint', reason: webhookFields.pauseReason.type },
    sql`WITH noted AS (
          SELECT w.customer_id, w.id, k.is_gone, f.since, k.is_repeated AND f.since < now() - make_interval(days => ${days}::int) AS is_failing
            FROM unnest(${failed.map(({ customerId }) => customerId)}::bigint[], ${failed.map(({ id }) => id)}::bigint[],
                        ${failed.map(({ isGone }) => isGone)}::boolean[], ${failed.map(({ isRepeated }) => isRepeated)}::boolean[])
                 AS k(customer_id, id, is_gone, is_repeated)
            JOIN webhook w USING (customer_id, id)
           CROSS JOIN LATERAL (
             SELECT CASE WHEN w.last_failed_at >= now() - make_interval(secs => ${gapSeconds}::float8) THEN coalesce(w.failing_since, now()) ELSE now() END AS since
           ) f
           WHERE w.status = 'active' ORDER BY w.customer_id, w.id FOR NO KEY UPDATE OF w
        ), written AS (
          UPDATE webhook w
             SET failing_since = n.since, last_failed_at = now(),
                 status = CASE WHEN n.is_gone OR n.is_failing THEN 'paused' ELSE w.status END,
                 pause_reason = CASE WHEN n.is_gone THEN 'gone' WHEN n.is_failing THEN 'failing' END,
                 paused_at = CASE WHEN n.is_gone OR n.is_failing THEN now() END
            FROM noted n WHERE w.customer_id = n.customer_id AND w.id = n.id
          RETURNING w.customer_id, w.id, w.status, w.pause_reason
        )
        SELECT customer_id AS "customerId", id, pause_reason AS reason FROM written WHERE status = 'paused' ORDER BY id`,
    'webhooks.note_failures',
  );
}

/** The numbers of plans. */
export async function planIdsOf(db: Queryable, uids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await db.query(
    { uid: 'text', id: 'bigint' },
    sql`SELECT uid, id FROM plan WHERE uid = ANY (${[...uids]}::text[])`,
  );
  return new Map(rows.map(({ uid, id }) => [uid, String(id)]));
}

/** As many numbers that nothing else has, the smallest first, and the time. Others may take those in between. */
export async function nextSequences(
  db: Queryable,
  count: number,
): Promise<readonly { readonly sequence: bigint; readonly now: Date }[]> {
  return db.query(
    { sequence: 'bigint', now: 'timestamptz' },
    sql`SELECT nextval('hot.webhook_sequence') AS sequence, now() AS now FROM generate_series(1, ${count}::int) ORDER BY 1`,
    'webhooks.next_sequences',
  );
}
