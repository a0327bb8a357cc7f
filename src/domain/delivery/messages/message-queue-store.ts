/**
 * The queue of messages that are not of a campaign: taking them, marking them, recording their outcomes. The promises of
 * ledger-store.ts apply here, too: each write is conditional on owner and epoch and uses the database's clock.
 */
import { plainArray, textArray } from '../../../db/array-text.ts';
import { raw, sql, row, typed, type Queryable, type RowOf } from '../../../db/database.ts';
import { PRIORITIES, type MessageKind, type MessagePurpose } from '../../messages/message.ts';
import { NO_ANSWER } from '../../sending/replies/judge-reply.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import { needsRuntimeMessage, runtimeMessageKey } from '../../tracking/runtime-message.ts';
import type { DeliveryOutcome, NoMailReason } from '../ledger/delivery.ts';
import type { Leaseholder } from '../ledger/ledger-store.ts';

/** A literal, so that every plan knows it. */
const FLOW = raw(String(SOURCE_KINDS.automation));
const TRANSACTIONAL = raw(String(SOURCE_KINDS.transactional));

/**
 * For a message `m`: whether frequency caps hold for it. They do not for what a reader asked for, nor for the last mail to who has left.
 */
const isCapped = sql`m.priority = ${raw(String(PRIORITIES.flow))} AND m.kind IN ('optional', 'marketing') AND m.status IS DISTINCT FROM 'unsubscribed'`;

const TAKEN_MESSAGE = row({
  id: 'bigint',
  customerId: 'bigint',
  sourceKind: 'smallint',
  sourceId: 'bigint',
  recipientId: 'bigint',
  listId: 'bigint?',
  priority: 'smallint',
  kind: typed<MessageKind>('text'),
  purpose: typed<MessagePurpose>('text'),
  snapshotOn: 'text',
  /** Null: erased. */
  content: typed<Readonly<Record<string, unknown>>>('json?'),
  ageSeconds: 'float8',
  /** The one that marking will set. */
  epoch: 'int',
  attempts: 'smallint',
  ambiguousCount: 'smallint',
  email: 'text?',
  fields: typed<Readonly<Record<string, unknown>>>('json?'),
  pendingUntil: 'timestamptz?',
  /** Why no mail is sent; null: it is. */
  denialReason: typed<NoMailReason>('text?'),
  /** Why it waited when it was looked at last. */
  reason: 'text?',
  /** Frequency caps in their stored form; null: none counts for it. */
  customerCap: 'json?',
  listCap: 'json?',
});
/** A message that this process has taken, with its recipient as it is now. */
export type TakenMessage = RowOf<typeof TAKEN_MESSAGE>;

export interface Taking {
  readonly holder: Leaseholder;
  readonly priorities: readonly number[];
  /** Customers of whom this process has enough under way. */
  readonly busy: readonly bigint[];
  readonly perCustomer: number;
  readonly wanted: number;
}

/** Takes due messages: those of a lower priority first, and of each customer some. */
export async function takeMessages(db: Queryable, taking: Taking): Promise<TakenMessage[]> {
  const { holder, priorities, busy, perCustomer, wanted } = taking;
  const taken = await db.query(
    { id: 'bigint' },
    sql`SELECT t.id FROM hot.take_messages(${holder.owner}::uuid, make_interval(secs => ${holder.leaseSeconds}), ${[...priorities]}::smallint[],
          ${[...busy]}::bigint[], ${perCustomer}::int, ${wanted}::int) AS t(id)`,
    'messages.take',
  );
  if (taken.length === 0) return [];
  return db.query(
    TAKEN_MESSAGE,
    sql`SELECT m.id, m.customer_id AS "customerId", m.source_kind AS "sourceKind", m.source_id AS "sourceId", m.recipient_id AS "recipientId",
               m.list_id AS "listId", m.priority, m.kind, m.purpose, m.snapshot_on::text AS "snapshotOn", m.content, extract(epoch FROM now() - coalesce(m.age_from, m.send_at, m.created_at))::float8 AS "ageSeconds",
               d.epoch + 1 AS epoch, d.attempts, d.ambiguous_count AS "ambiguousCount", d.reason, p.email, p.fields, p.pending_until AS "pendingUntil",
               CASE WHEN p.email IS NULL THEN 'deleted' WHEN p.status <> m.status THEN p.status
                    WHEN hot.is_message_suppressed(m.customer_id, p.email_key, m.kind) THEN 'suppressed'
                    WHEN m.source_kind = ${FLOW} THEN coalesce(hot.flow_denial(m.customer_id, m.source_id), CASE WHEN d.reason = 'overdue' THEN d.reason END)
                    WHEN m.source_kind = ${TRANSACTIONAL} AND m.purpose <> 'notice' THEN hot.customer_denial(m.customer_id) END AS "denialReason",
               CASE WHEN ${isCapped} THEN (SELECT u.frequency_cap FROM public.customer u WHERE u.id = m.customer_id) END AS "customerCap",
               CASE WHEN ${isCapped} THEN (SELECT l.frequency_cap FROM public.mail_list l WHERE l.customer_id = m.customer_id AND l.id = m.list_id) END AS "listCap"
          FROM hot.message_queue q
         CROSS JOIN LATERAL (SELECT m.* FROM hot.message m WHERE m.customer_id = q.customer_id AND m.id = q.message_id OFFSET 0) m
         CROSS JOIN LATERAL (
           SELECT l.* FROM hot.delivery l
            WHERE l.snapshot_on = m.snapshot_on AND l.customer_id = m.customer_id AND l.source_kind = m.source_kind AND l.source_id = m.source_id
              AND l.recipient_id = m.recipient_id AND l.occurrence = m.id OFFSET 0) d
          LEFT JOIN LATERAL hot.reader_of_message(m.customer_id, m.list_id, m.recipient_id) p ON true
         WHERE q.message_id = ANY (${taken.map(({ id }) => id)}::bigint[]) AND d.state = 'queued'
         ORDER BY m.priority, m.id`,
    'messages.taken',
  );
}

/** The outcome of one attempt. */
export interface MessageOutcome extends DeliveryOutcome {
  readonly customerId: bigint;
  /** Null: no server was used. */
  readonly serverId: bigint | null;
}

/** A message that is about to be handed over. */
export interface MessageHandover {
  readonly id: bigint;
  readonly customerId: bigint;
  readonly epoch: number;
  /** The address that was read. */
  readonly email: string;
  readonly serverId: bigint;
}

export interface SettledMessages {
  /** Outcomes whose row was found as expected. */
  readonly recorded: ReadonlySet<bigint>;
  /** Those that may be handed over. */
  readonly marked: ReadonlySet<bigint>;
}

/** Records outcomes and marks the next messages as `sending`, in one statement. May be repeated after a lost connection. */
export async function settleMessages(
  db: Queryable,
  { owner, leaseSeconds }: Leaseholder,
  { outcomes, next }: { outcomes: readonly MessageOutcome[]; next: readonly MessageHandover[] },
): Promise<SettledMessages> {
  const keys = outcomes.map(({ runtimeMessageId }) =>
    needsRuntimeMessage(runtimeMessageId) ? runtimeMessageKey(runtimeMessageId) : null,
  );
  const [answer] = await db.query(
    { recorded: 'bigint[]?', marked: 'bigint[]?' },
    sql`SELECT recorded, marked FROM hot.settle_messages(${owner}::uuid, make_interval(secs => ${leaseSeconds}),
          ${plainArray(outcomes, (o) => o.occurrence)}::bigint[], ${plainArray(outcomes, (o) => o.customerId)}::bigint[],
          ${plainArray(outcomes, (o) => o.epoch)}::int[], ${plainArray(outcomes, (o) => o.state)}::hot.delivery_state[],
          ${plainArray(outcomes, (o) => o.isTry)}::boolean[], ${textArray(outcomes, (o) => o.reply)}::text[],
          ${textArray(outcomes, (o) => o.reason)}::text[], ${textArray(outcomes, (o) => o.runtimeMessageId)}::text[], ${keys}::bytea[],
          ${plainArray(outcomes, (o) => o.delaySeconds)}::float8[], ${plainArray(outcomes, (o) => o.reason === NO_ANSWER)}::boolean[],
          ${plainArray(outcomes, (o) => o.serverId)}::bigint[],
          ${plainArray(next, (n) => n.id)}::bigint[], ${plainArray(next, (n) => n.customerId)}::bigint[],
          ${plainArray(next, (n) => n.epoch)}::int[], ${textArray(next, (n) => n.email)}::text[], ${plainArray(next, (n) => n.serverId)}::bigint[])`,
    'messages.settle',
  );
  return { recorded: new Set(answer?.recorded), marked: new Set(answer?.marked) };
}
