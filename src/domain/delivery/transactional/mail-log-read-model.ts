/** The log of transactional mails: what became of each, and what its reader did. */
import { sql, row, typed, type Queryable, type RowOf, type Sql } from '../../../db/database.ts';
import type { MessageKind } from '../../messages/message.ts';
import type { DeliveryState } from '../ledger/delivery.ts';
import { isTo, LEDGER, OUTCOME_COLUMNS } from '../messages/message-log-read-model.ts';

const LOGGED_MAIL = row({
  id: 'bigint',
  kind: typed<MessageKind>('text'),
  /** Null: without a template, or it was deleted. */
  templateUid: 'text?',
  listUid: 'text?',
  ...OUTCOME_COLUMNS,
  externalId: 'text?',
  tags: 'text[]',
  isContentKept: 'bool',
  openCount: 'int',
  clickCount: 'int',
  lastOpenAt: 'timestamptz?',
  lastClickAt: 'timestamptz?',
  /** The last one: `hard`, `soft`. */
  bounceType: 'text?',
  bouncedAt: 'timestamptz?',
  complainedAt: 'timestamptz?',
  createdAt: 'timestamptz',
  sendAt: 'timestamptz?',
  notBefore: 'timestamptz?',
  updatedAt: 'timestamptz',
});
export type LoggedMail = RowOf<typeof LOGGED_MAIL>;

export interface MailQuestion {
  readonly customerId: bigint;
  readonly state: DeliveryState | null;
  /** The address as it is compared: mails to whoever has it now. */
  readonly emailKey: string | null;
  readonly templateId: bigint | null;
  readonly tag: string | null;
  readonly externalId: string | null;
  readonly createdFrom: Date | null;
  readonly createdTo: Date | null;
}

const COLUMNS = sql`m.id, m.kind, p.uid AS "templateUid", l.uid AS "listUid", d.email, d.state::text AS state, d.reason, d.reply, d.attempts,
  d.ambiguous_count AS "ambiguousCount", t.external_id AS "externalId", t.tags, m.content IS NOT NULL AS "isContentKept",
  coalesce(a.open_count, 0) AS "openCount", coalesce(a.click_count, 0) AS "clickCount", a.last_open_at AS "lastOpenAt", a.last_click_at AS "lastClickAt",
  b.type AS "bounceType", b.at AS "bouncedAt", f.at AS "complainedAt",
  m.created_at AS "createdAt", m.send_at AS "sendAt", d.not_before AS "notBefore", d.updated_at AS "updatedAt"`;

const MAILS = sql`hot.transactional_mail t JOIN hot.message m ON m.customer_id = t.customer_id AND m.id = t.message_id`;

/** What came back about one mail. */
const lastOf = (table: Sql, name: Sql, columns: Sql) => sql`
  LEFT JOIN LATERAL (
    SELECT ${columns} FROM ${table} e
     WHERE e.customer_id = m.customer_id AND e.source_kind = m.source_kind AND e.source_id = m.source_id AND e.recipient_id = m.recipient_id
       AND e.occurrence = m.id ORDER BY e.at DESC LIMIT 1) ${name} ON true`;

const AFTERWARDS = sql`
  LEFT JOIN template p ON p.customer_id = m.customer_id AND p.id = m.source_id
  LEFT JOIN mail_list l ON l.customer_id = m.customer_id AND l.id = m.list_id
  LEFT JOIN hot.recipient_activity a ON a.customer_id = m.customer_id AND a.source_kind = m.source_kind AND a.source_id = m.source_id
   AND a.recipient_id = m.recipient_id AND a.occurrence = m.id
  ${lastOf(sql`hot.bounce_event`, sql`b`, sql`e.type, e.at`)} ${lastOf(sql`hot.feedback_event`, sql`f`, sql`e.at`)}`;

/** A page of the log, the newest first. */
export function loggedMails(
  db: Queryable,
  question: MailQuestion,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<LoggedMail[]> {
  return db.query(
    LOGGED_MAIL,
    sql`SELECT ${COLUMNS} FROM ${MAILS} ${LEDGER} ${AFTERWARDS} WHERE ${asked(question)} ORDER BY t.message_id DESC OFFSET ${offset} LIMIT ${limit}`,
  );
}

/** How many they are, counted up to `max`. */
export async function countLoggedMails(db: Queryable, question: MailQuestion, max: number): Promise<number> {
  const ledger = question.state === null ? sql`` : LEDGER;
  const [row] = await db.query(
    { total: 'int' },
    sql`SELECT count(*)::int AS total FROM (SELECT 1 FROM ${MAILS} ${ledger} WHERE ${asked(question)} LIMIT ${max}) counted`,
  );
  return row?.total ?? 0;
}

/** One mail of the customer. */
export async function loggedMail(
  db: Queryable,
  { customerId, id }: { readonly customerId: bigint; readonly id: bigint },
): Promise<LoggedMail | undefined> {
  const [found] = await db.query(
    LOGGED_MAIL,
    sql`SELECT ${COLUMNS} FROM ${MAILS} ${LEDGER} ${AFTERWARDS} WHERE t.customer_id = ${customerId} AND t.message_id = ${id}`,
  );
  return found;
}

function asked(question: MailQuestion): Sql {
  const { customerId, state, emailKey, templateId, tag, externalId, createdFrom, createdTo } = question;
  const conditions = [
    sql`t.customer_id = ${customerId}`,
    state === null ? undefined : sql`d.state = ${state}::hot.delivery_state`,
    templateId === null ? undefined : sql`m.source_id = ${templateId}`,
    tag === null ? undefined : sql`t.tags <> '{}' AND t.tags @> ARRAY[${tag}]::text[]`,
    externalId === null ? undefined : sql`t.external_id = ${externalId}`,
    createdFrom === null ? undefined : sql`m.created_at >= ${createdFrom}::timestamptz`,
    createdTo === null ? undefined : sql`m.created_at <= ${createdTo}::timestamptz`,
    emailKey === null ? undefined : isTo(customerId, emailKey),
  ];
  return conditions.flatMap((one) => one ?? []).reduce((all, one) => sql`${all} AND ${one}`);
}

const MAIL_TO_RESEND = row({
  sourceId: 'bigint',
  recipientId: 'bigint',
  listId: 'bigint?',
  kind: typed<MessageKind>('text'),
  status: 'text?',
  content: typed<Readonly<Record<string, unknown>>>('json?'),
});

/** What is needed to send it again. */
export async function mailToResend(
  db: Queryable,
  { customerId, id }: { readonly customerId: bigint; readonly id: bigint },
): Promise<RowOf<typeof MAIL_TO_RESEND> | undefined> {
  const [found] = await db.query(
    MAIL_TO_RESEND,
    sql`SELECT source_id AS "sourceId", recipient_id AS "recipientId", list_id AS "listId", kind, status, content
          FROM hot.message WHERE customer_id = ${customerId} AND id = ${id} AND purpose = 'transactional'`,
  );
  return found;
}
