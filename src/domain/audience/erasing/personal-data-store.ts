/**
 * Every place in the database with data of a person on a list, and what happens to it when the person is erased: one table for
 * export and erasing, so that both know the same places. A test searches the tables for addresses and subscribers' ids: a new
 * place must be added here. Also what leads to a person's rows: the ledger's keys, campaign by campaign. A ledger has no index on
 * addresses, so people who left a list or changed their address are found by a table of former addresses (decision record 0069).
 */
import { domainToUnicode } from 'node:url';
import { join, raw, sql, row, typed, type Queryable, type Sql } from '../../../db/database.ts';
import { consentRowsOf } from '../consent-read-model.ts';
import { SOURCE_KINDS, type DeliveryKey } from '../../source-key.ts';

/** A person, as rows refer to them. */
export interface Somebody {
  /** One customer, or all of them. */
  readonly customerIds: readonly bigint[];
  readonly emailKey: string;
  /** All subscribers with the address, on any list; also erased ones while their traces are being erased. */
  readonly subscriberIds: readonly bigint[];
  /** Subscribers who had the address before: deleted from their list, or with another address now. */
  readonly formerIds: readonly bigint[];
  /** Their rows in the ledgers. */
  readonly deliveries: readonly PersonalDelivery[];
}

export interface PersonalDelivery extends DeliveryKey {
  /** YYYY-MM-DD. */
  readonly snapshotOn: string;
}

export interface PersonalPlace {
  /** With its schema. */
  readonly table: string;
  /** The condition for the person's rows; the table is called t. */
  where(person: Somebody): Sql;
  /**
   * `at once`: by the verb, with the person. `rows`: deleted. Assignments: the row is kept for the sums, without anything that
   * leads to the person.
   */
  readonly erase: 'at once' | 'rows' | ((person: Somebody) => Sql);
  /** Kept while something about the person is under way. */
  readonly waits?: true;
  /** What the export shows instead of the table's rows: also those that are kept in another form. */
  readonly exported?: (where: Sql) => Sql;
}

function ofCustomers({ customerIds }: Somebody): Sql {
  return sql`t.customer_id = ANY (${[...customerIds]}::bigint[])`;
}

function ofSubscribers(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND t.subscriber_id = ANY (${[...person.subscriberIds]}::bigint[])`;
}

/**
 * Rows of lists. Blocks of ids say which lists have people near an id: without a list the key of these tables is useless, and all
 * rows of the customer would be read.
 */
function ofLists(person: Somebody): Sql {
  return sql`${ofSubscribers(person)} AND t.list_id IN (
    SELECT b.list_id FROM unnest(${[...person.subscriberIds]}::bigint[]) AS i (id)
      JOIN hot.subscriber_block b ON b.block = i.id >> 11)`;
}

/**
 * Rows of bounces and events, by the keys that were found before (findPerson): nothing else is read, whatever the planner
 * expects.
 */
function ofMessages({ deliveries }: Somebody): Sql {
  return sql`(t.customer_id, t.source_kind, t.source_id, t.recipient_id, t.occurrence) IN (SELECT * FROM unnest(${keysOf(deliveries)}))`;
}

/** The ledger's own rows; for a person who left the list or changed the address, those with this address. */
function inLedger({ deliveries }: Somebody): Sql {
  return sql`(t.customer_id, t.source_kind, t.source_id, t.recipient_id, t.occurrence, t.snapshot_on) IN (
    SELECT * FROM unnest(${keysOf(deliveries)}, ${deliveries.map(({ snapshotOn }) => snapshotOn)}::date[]))`;
}

function keysOf(deliveries: readonly PersonalDelivery[]): Sql {
  return sql`${deliveries.map(({ customerId }) => customerId)}::bigint[], ${deliveries.map(({ sourceKind }) => sourceKind)}::smallint[],
    ${deliveries.map(({ sourceId }) => sourceId)}::bigint[], ${deliveries.map(({ recipientId }) => recipientId)}::bigint[],
    ${deliveries.map(({ occurrence }) => occurrence)}::bigint[]`;
}

/** Former addresses of the person, and subscribers who had the person's address before. */
function formerly(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND (t.subscriber_id = ANY (${[...person.subscriberIds]}::bigint[])
    OR (t.subscriber_id = ANY (${[...person.formerIds]}::bigint[]) AND t.address_hash = ANY (
      SELECT hashtextextended(a, 0) FROM unnest(${spellingsOf(person.emailKey)}::text[]) a)))`;
}

/** The address as it is compared, and with its domain as people write it: the ledger has addresses as they were given. */
function spellingsOf(emailKey: string): string[] {
  const at = emailKey.lastIndexOf('@');
  const written = `${emailKey.slice(0, at)}@${domainToUnicode(emailKey.slice(at + 1))}`;
  return written === emailKey ? [emailKey] : [emailKey, written];
}

const noVisitor = () => sql`recipient_id = 0, ip = NULL, user_agent = NULL`;
const noReport = () => sql`recipient_id = 0, message = NULL`;
/** The query part of a link contains what the template put into it about its reader. */
const noClicker = (person: Somebody) =>
  sql`${noVisitor()}, url = ${withoutAddress(person, sql`split_part(split_part(url, '?', 1), '#', 1)`)}`;

/** A text without the address, as it is or as links encode it. */
function withoutAddress({ emailKey }: Somebody, text: Sql): Sql {
  return sql`regexp_replace(${text}, ${addressPattern(emailKey)}, '{EMAIL}', 'gi')`;
}

/** Both spellings of the address as a regular expression. */
export function addressPattern(emailKey: string): string {
  return [emailKey, encodeURIComponent(emailKey)].map((text) => text.replace(/[^\p{L}\p{N}@%]/gu, '\\$&')).join('|');
}

/** In the order in which they are erased. */
export const PERSONAL_PLACES: readonly PersonalPlace[] = [
  place('public.subscriber', byKey, 'at once'),
  { ...place('public.consent_event', ofLists, 'at once'), exported: consentRowsOf },
  place('hot.subscriber_activity', ofLists, 'at once'),
  place('hot.unsubscribe_notice', ofLists, 'at once'),
  place('public.suppression', byKey, 'at once'),
  place('hot.soft_bounce', byKey, 'rows'),
  place('hot.capped_message', byKey, 'rows'),
  place(
    'public.import_rejection',
    inCells,
    () => sql`cells = '[]', reason_code = 'person_erased', reason_params = NULL`,
  ),
  place('public.test_message', tested, 'rows'),
  place('public.automation_test', tested, 'rows'),
  // What was sent stays known, without what it said; a cause may name the address.
  place('hot.message', ofRecipient, () => sql`content = NULL, cause = 'erased ' || t.id`),
  place('hot.message_file', ofMessage, 'rows'),
  place('hot.transactional_mail', ofMessage, () => sql`external_id = NULL, tags = '{}'`),
  place('hot.open_event', ofMessages, noVisitor),
  place('hot.click_event', ofMessages, noClicker),
  place('hot.unsubscribe_event', ofMessages, noVisitor),
  place('hot.bounce_event', ofMessages, noReport),
  place('hot.feedback_event', ofMessages, noReport),
  place('hot.recipient_link', ofMessages, 'rows'),
  place('hot.recipient_activity', ofMessages, 'rows'),
  place('hot.runtime_message', ofMessages, 'rows'),
  // The ledger must balance: its row stays, without a person. These two last, because they say which campaigns to search.
  place('hot.delivery', inLedger, () => sql`email = '', reply = NULL, reason = NULL, runtime_message_id = NULL`),
  // The key of an entry and a payload may name the person. The place in the flow stays until the engine finds nobody there.
  place('hot.flow_payload', inFlows, 'rows'),
  place('hot.person_event', ofPerson, 'rows'),
  place('hot.flow_step', ofPerson, 'rows'),
  place('hot.flow_entry', ofPerson, 'rows'),
  place('hot.flow_trigger_person', ofPerson, 'rows'),
  place('hot.flow_changed', ofPerson, 'rows'),
  place('hot.flow_activity', ofPerson, 'rows'),
  place('hot.flow_run', ofPerson, () => sql`entry_key = ''`),
  // One that waits is not sent any more.
  place('hot.webhook_activity', ofReader, 'rows'),
  place('hot.webhook_attempt', ofReader, 'rows'),
  place('hot.webhook_delivery', ofReader, 'rows'),
  // A vendor's own words about several people: shown as what it is, and deleted whole.
  { ...place('hot.vendor_request', named, 'rows'), exported: requestRowsOf },
  place('hot.former_address', formerly, 'rows'),
  // Last, and not before all answers of servers have come: it leads to the messages.
  { ...place('hot.message_recipient', byKey, 'rows'), waits: true },
];

function place(table: string, where: PersonalPlace['where'], erase: PersonalPlace['erase']): PersonalPlace {
  return { table, where, erase };
}

function byKey(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND t.email_key = ${person.emailKey}`;
}

/** Tests that went to the address, or used the person's values. */
function tested(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND (lower(t.email) = ${person.emailKey} OR t.subscriber_id = ANY (${[...person.subscriberIds]}::bigint[]))`;
}

function ofPerson(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND t.person_id = ANY (${[...person.subscriberIds]}::bigint[])`;
}

/** On a list, or as the recipient of messages without one. */
function ofReader(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND t.person_id = ANY (${[...person.subscriberIds, ...messagesTo(person, ({ recipientId }) => recipientId)]}::bigint[])`;
}

/** What the person's runs began with. */
function inFlows(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND (t.customer_id, t.automation_id, t.run_id) IN (
    SELECT r.customer_id, r.automation_id, r.id FROM hot.flow_run r
     WHERE r.customer_id = ANY (${[...person.customerIds]}::bigint[]) AND r.person_id = ANY (${[...person.subscriberIds]}::bigint[]))`;
}

/** Messages to the person that are not of a campaign. */
function ofRecipient(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND (t.customer_id, t.id) IN (${messageKeysOf(person)})`;
}

/** What belongs to such a message. */
function ofMessage(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND (t.customer_id, t.message_id) IN (${messageKeysOf(person)})`;
}

function messageKeysOf(person: Somebody): Sql {
  return sql`SELECT * FROM unnest(${messagesTo(person, ({ customerId }) => customerId)}::bigint[],
                                  ${messagesTo(person, ({ occurrence }) => occurrence)}::bigint[])`;
}

function messagesTo({ deliveries }: Somebody, value: (delivery: PersonalDelivery) => bigint): bigint[] {
  return deliveries.filter(({ sourceKind }) => sourceKind !== SOURCE_KINDS.campaign).map(value);
}

function inCells(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND position(${person.emailKey} IN lower(t.cells)) > 0`;
}

/** Requests of vendors that name the address; about the operator's servers for every customer. */
function named(person: Somebody): Sql {
  return sql`(t.is_system OR ${ofCustomers(person)}) AND t.address_hashes && ARRAY[hashtextextended(${person.emailKey}, 0)]`;
}

function requestRowsOf(where: Sql): Sql {
  return sql`SELECT t.customer_id, t.uid, t.type, t.received_at, t.event_count FROM hot.vendor_request t WHERE ${where}`;
}

/** The person's rows in one place. */
function rowsOf({ table, where }: PersonalPlace, person: Somebody): Sql {
  return sql`FROM ${raw(table)} t WHERE ${where(person)}`;
}

/** The same for the export. */
function exportedRowsOf(place: PersonalPlace, person: Somebody): Sql {
  return place.exported ? sql`FROM (${place.exported(place.where(person))}) t` : rowsOf(place, person);
}

type KnownPerson = Pick<Somebody, 'customerIds' | 'emailKey' | 'subscriberIds'>;

const PERSON_DELIVERY_ROW = row({
  snapshotOn: 'text',
  recipientId: 'bigint',
  occurrence: 'bigint',
  customerId: 'bigint',
  sourceKind: 'smallint',
  sourceId: 'bigint',
});

/** The person with all subscribers who had the address, and the keys of all their deliveries. */
export async function findPerson(db: Queryable, known: KnownPerson): Promise<Somebody> {
  const spellings = spellingsOf(known.emailKey);
  const customerIds = [...known.customerIds];
  const former = await db.query(
    { id: 'bigint' },
    sql`
    SELECT DISTINCT subscriber_id AS id FROM hot.former_address
     WHERE address_hash = ANY (SELECT hashtextextended(a, 0) FROM unnest(${spellings}::text[]) a)
       AND customer_id = ANY (${customerIds}::bigint[])`,
  );
  const present = new Set(known.subscriberIds);
  const formerIds = former.map(({ id }) => id).filter((id) => !present.has(id));
  const deliveries = await db.query(
    PERSON_DELIVERY_ROW,
    sql`
    SELECT k.customer_id AS "customerId", k.source_kind AS "sourceKind", k.source_id AS "sourceId", k.recipient_id AS "recipientId", k.occurrence,
           c.snapshot_on::text AS "snapshotOn"
      FROM campaign c
     CROSS JOIN (SELECT id, false AS is_former FROM unnest(${[...present]}::bigint[]) AS p (id)
                 UNION ALL SELECT id, true FROM unnest(${formerIds}::bigint[]) AS f (id)) i
     CROSS JOIN LATERAL (
       SELECT d.customer_id, d.source_kind, d.source_id, d.recipient_id, d.occurrence FROM hot.delivery d
        WHERE d.snapshot_on = c.snapshot_on AND d.customer_id = c.customer_id AND d.source_kind = ${SOURCE_KINDS.campaign} AND d.source_id = c.id
          AND d.recipient_id = i.id AND (NOT i.is_former OR lower(d.email) = ANY (${spellings}::text[]))
       UNION
       -- Of a ledger that is kept for fewer months than what came back.
       SELECT a.customer_id, a.source_kind, a.source_id, a.recipient_id, a.occurrence FROM hot.recipient_activity a
        WHERE a.customer_id = c.customer_id AND a.source_kind = ${SOURCE_KINDS.campaign} AND a.source_id = c.id AND a.recipient_id = i.id AND NOT i.is_former
       -- Keeps it a look-up by key: as a join it would read every recipient of every campaign.
       OFFSET 0) k
     WHERE c.customer_id = ANY (${customerIds}::bigint[]) AND c.snapshot_on IS NOT NULL
    UNION ALL
    SELECT m.customer_id, m.source_kind, m.source_id, m.recipient_id, m.id, m.snapshot_on::text
      FROM hot.message m
     CROSS JOIN LATERAL (
       SELECT 1 FROM hot.delivery d
        WHERE d.snapshot_on = m.snapshot_on AND d.customer_id = m.customer_id AND d.source_kind = m.source_kind AND d.source_id = m.source_id
          AND d.recipient_id = m.recipient_id AND d.occurrence = m.id
          AND (m.recipient_id <> ALL (${formerIds}::bigint[]) OR lower(d.email) = ANY (${spellings}::text[]))
       OFFSET 0) d
     WHERE m.customer_id = ANY (${customerIds}::bigint[]) AND m.recipient_id = ANY (ARRAY(
       SELECT unnest(${[...present, ...formerIds]}::bigint[])
       UNION ALL
       SELECT r.id FROM hot.message_recipient r WHERE r.email_key = ${known.emailKey} AND r.customer_id = ANY (${customerIds}::bigint[])))`,
  );
  return { ...known, formerIds, deliveries };
}

/** Does to the person's rows of one place what the table above says; nothing if the verb has done it. */
export async function eraseFrom(db: Queryable, place: PersonalPlace, person: Somebody): Promise<void> {
  const { table, where, erase } = place;
  if (erase === 'at once') return;
  if (erase === 'rows') await db.execute(sql`DELETE ${rowsOf(place, person)}`);
  else await db.execute(sql`UPDATE ${raw(table)} t SET ${erase(person)} WHERE ${where(person)}`);
}

/** How many rows of the person each place has, in order. */
export async function countPersonalRows(db: Queryable, person: Somebody): Promise<number[]> {
  const counts = PERSONAL_PLACES.map(
    (place, no) => sql`SELECT ${no}::int AS no, count(*)::int AS rows ${exportedRowsOf(place, person)}`,
  );
  const found = await db.query({ no: 'int', rows: 'int' }, join(counts, ' UNION ALL '));
  const byNo = new Map(found.map(({ no, rows }) => [no, rows]));
  return PERSONAL_PLACES.map((_, no) => byNo.get(no) ?? 0);
}

/** Rows of one place as in the table. */
export async function personalRows(
  db: Queryable,
  place: PersonalPlace,
  { person, offset, limit }: { readonly person: Somebody; readonly offset: number; readonly limit: number },
): Promise<Record<string, unknown>[]> {
  const rows = await db.query(
    { row: typed<Record<string, unknown>>('json') },
    sql`SELECT to_jsonb(t) AS row ${exportedRowsOf(place, person)} ORDER BY t::text OFFSET ${offset} LIMIT ${limit}`,
  );
  return rows.map(({ row }) => row);
}

/** Whether a message to the person is in flight, or a tracking event of theirs is not counted yet. */
export async function isUnderWay(db: Queryable, person: Somebody): Promise<boolean> {
  const { customerIds } = person;
  const subscriberIds = [...person.subscriberIds, ...person.formerIds];
  const rows = await db.execute(sql`
    SELECT 1 FROM hot.tracking_event v WHERE v.recipient_ids && ${subscriberIds}::bigint[] UNION ALL
    SELECT 1 FROM campaign c CROSS JOIN unnest(${subscriberIds}::bigint[]) AS i (id)
     WHERE c.customer_id = ANY (${[...customerIds]}::bigint[]) AND EXISTS (
       SELECT 1 FROM hot.delivery d
        WHERE d.customer_id = c.customer_id AND d.source_kind = ${SOURCE_KINDS.campaign} AND d.source_id = c.id AND d.snapshot_on = c.snapshot_on
          AND d.recipient_id = i.id
          AND d.state IN ('leased', 'sending') AND d.lease_expires_at > now()
       -- Keeps it a look-up by key.
       OFFSET 0)
    UNION ALL
    SELECT 1 FROM unnest(${messagesTo(person, ({ customerId }) => customerId)}::bigint[], ${messagesTo(person, ({ occurrence }) => occurrence)}::bigint[]) AS k (customer_id, id)
      JOIN hot.message m ON m.customer_id = k.customer_id AND m.id = k.id
     CROSS JOIN LATERAL (
       SELECT 1 FROM hot.delivery d
        WHERE d.snapshot_on = m.snapshot_on AND d.customer_id = m.customer_id AND d.source_kind = m.source_kind AND d.source_id = m.source_id
          AND d.recipient_id = m.recipient_id AND d.occurrence = m.id AND d.state = 'sending' AND d.lease_expires_at > now() OFFSET 0) d
     LIMIT 1`);
  return rows > 0;
}

/** A link is counted under the address of its first click, which may contain who clicked. */
export async function eraseFromLinks(db: Queryable, person: Somebody): Promise<void> {
  await db.execute(sql`
    UPDATE hot.link_counter SET url = ${withoutAddress(person, sql`url`)}
     WHERE customer_id = ANY (${[...person.customerIds]}::bigint[]) AND url ~* ${addressPattern(person.emailKey)}`);
}

/** The development receiver keeps sent mails: those to the person, and about them. */
export async function eraseFromInbox(db: Queryable, { emailKey }: Somebody): Promise<void> {
  await db.execute(sql`
    DELETE FROM inbox.message
     WHERE ${emailKey} = ANY (SELECT lower(r) FROM unnest(rcpt_to) r)
        OR position(${emailKey} IN lower(replace(encode(raw, 'escape'), E'=\\\\015\\\\012', ''))) > 0
        OR position(${emailKey} IN lower(replace(encode(raw, 'escape'), E'=\\r\\n', ''))) > 0`);
}

/** All customers that may have data of a person who is erased for the whole installation. */
export async function allCustomers(db: Queryable): Promise<bigint[]> {
  return (await db.query({ id: 'bigint' }, sql`SELECT id FROM customer ORDER BY id`)).map(({ id }) => id);
}
