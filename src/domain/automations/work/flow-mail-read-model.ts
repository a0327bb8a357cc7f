/** What a step with a mail asks of the database: the template's kind, addresses, mails of the flow that people have, and what they did with one. */
import { row, sql, typed, type Queryable, type RowOf } from '../../../db/database.ts';
import { withId } from '../../audience/subscriber-store.ts';
import type { TemplateKind } from '../../content/templates/template.ts';
import { ofCauses } from '../../messages/message-store.ts';
import { SOURCE_KINDS } from '../../source-key.ts';

/** Undefined: there is no such template. */
export async function kindOfTemplate(
  db: Queryable,
  { customerId, uid }: { readonly customerId: bigint; readonly uid: string },
): Promise<TemplateKind | undefined> {
  const [found] = await db.query(
    { kind: typed<TemplateKind>('text') },
    sql`SELECT kind FROM template WHERE customer_id = ${customerId} AND uid = ${uid}`,
    'automations.kind_of_template',
  );
  return found?.kind;
}

const HOLDING_ROW = row({ quietHours: 'json?', listCap: 'json?', customerCap: 'json?' });
/** What holds mails to people of a list back, in the stored form. */
export type StoredHolding = RowOf<typeof HOLDING_ROW>;

/** Undefined: there is no such list. */
export async function storedHolding(
  db: Queryable,
  { customerId, listId }: { readonly customerId: bigint; readonly listId: bigint },
): Promise<StoredHolding | undefined> {
  const [list] = await db.query(
    HOLDING_ROW,
    sql`SELECT l.quiet_hours AS "quietHours", l.frequency_cap AS "listCap", u.frequency_cap AS "customerCap"
          FROM mail_list l JOIN customer u ON u.id = l.customer_id WHERE l.customer_id = ${customerId} AND l.id = ${listId}`,
    'automations.holding',
  );
  return list;
}

interface People {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly ids: readonly bigint[];
}

/** The people's addresses by their ids. */
export async function addressesOf(
  db: Queryable,
  { customerId, listId, ids }: People,
): Promise<ReadonlyMap<bigint, string>> {
  const rows = await db.query(
    { id: 'bigint', email: 'text' },
    sql`SELECT s.id, s.email FROM unnest(${[...ids]}::bigint[]) AS k (id)
         CROSS JOIN LATERAL (SELECT s.id, s.email FROM subscriber s WHERE ${withId({ customerId, listId, id: sql`k.id` })}) s`,
    'automations.addresses',
  );
  return new Map(rows.map(({ id, email }) => [id, email]));
}

interface SameMail {
  readonly customerId: bigint;
  readonly automationId: bigint;
  readonly templateUid: string;
  readonly ids: readonly bigint[];
  readonly since: Date;
}

/**
 * Whom the flow sent a mail of this template since then, or is about to: by the history, whose old months are dropped. A mail that was
 * not sent does not count.
 */
export async function peopleWithMail(
  db: Queryable,
  { customerId, automationId, templateUid, ids, since }: SameMail,
): Promise<ReadonlySet<bigint>> {
  const rows = await db.query(
    { id: 'bigint' },
    sql`SELECT DISTINCT t.person_id AS id
          FROM hot.flow_step t
         CROSS JOIN LATERAL (
           SELECT m.* FROM hot.message m WHERE m.customer_id = t.customer_id AND m.id = (t.details ->> 'messageId')::bigint OFFSET 0) m
         CROSS JOIN LATERAL (
           SELECT d.state FROM hot.delivery d
            WHERE d.snapshot_on = m.snapshot_on AND d.customer_id = m.customer_id AND d.source_kind = m.source_kind AND d.source_id = m.source_id
              AND d.recipient_id = m.recipient_id AND d.occurrence = m.id OFFSET 0) d
         WHERE t.customer_id = ${customerId} AND t.person_id = ANY (${[...ids]}::bigint[]) AND t.automation_id = ${automationId}
           AND t.at >= ${since} AND t.happened_on >= (${since}::timestamptz AT TIME ZONE 'UTC')::date
           AND t.details ->> 'templateUid' = ${templateUid} AND d.state NOT IN ('failed', 'skipped', 'suppressed')`,
    'automations.people_with_mail',
  );
  return new Set(rows.map(({ id }) => id));
}

export interface MailAct {
  readonly opens: number;
  readonly clicks: number;
}

/** What the recipients did with the messages of these causes; people's acts only, or machines', too. */
export async function actsOnMails(
  db: Queryable,
  { customerId, automationId }: { readonly customerId: bigint; readonly automationId: bigint },
  { causes, machines }: { readonly causes: readonly string[]; readonly machines: boolean },
): Promise<ReadonlyMap<string, MailAct>> {
  const rows = await db.query(
    { cause: 'text', opens: 'int', clicks: 'int' },
    sql`SELECT m.cause, CASE WHEN ${machines} THEN a.open_count ELSE a.human_opens END AS opens,
               CASE WHEN ${machines} THEN a.click_count ELSE a.human_clicks END AS clicks
          FROM ${ofCauses(customerId, causes)}
         CROSS JOIN LATERAL (
           SELECT r.* FROM hot.recipient_activity r
            WHERE r.customer_id = m.customer_id AND r.source_kind = m.source_kind AND r.source_id = m.source_id
              AND r.recipient_id = m.recipient_id AND r.occurrence = m.id OFFSET 0) a
         WHERE m.source_kind = ${SOURCE_KINDS.automation} AND m.source_id = ${automationId}`,
    'automations.acts_on_mails',
  );
  return new Map(rows.map(({ cause, ...act }) => [cause, act]));
}

/** Those of the causes in whose messages a link was clicked whose address contains the text, in whatever case. */
export async function clickedLinks(
  db: Queryable,
  { customerId, automationId }: { readonly customerId: bigint; readonly automationId: bigint },
  { causes, machines, contains }: { causes: readonly string[]; machines: boolean; contains: string },
): Promise<ReadonlySet<string>> {
  const rows = await db.query(
    { cause: 'text' },
    sql`SELECT DISTINCT m.cause
          FROM ${ofCauses(customerId, causes)}
         CROSS JOIN LATERAL (
           SELECT 1 FROM hot.click_event e
            WHERE e.customer_id = m.customer_id AND e.source_kind = m.source_kind AND e.source_id = m.source_id AND e.recipient_id = m.recipient_id
              AND e.occurrence = m.id AND e.at >= m.created_at AND (${machines} OR NOT e.is_machine) AND strpos(hot.fold(e.url), hot.fold(${contains})) > 0
            LIMIT 1) c
         WHERE m.source_kind = ${SOURCE_KINDS.automation} AND m.source_id = ${automationId}`,
    'automations.clicked_links',
  );
  return new Set(rows.map(({ cause }) => cause));
}
