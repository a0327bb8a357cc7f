/**
 * Every place of the database that holds something of a person on a list, and what becomes of it when the person is
 * erased: one table for exporting and erasing, so that neither can forget what the other knows. A test walks the
 * tables for addresses and subscribers' ids: a new one must be added here.
 */
import { domainToUnicode } from 'node:url';
import { raw, sql, type Sql } from '../../../db/database.ts';

/** Somebody, as the rows know him. */
export interface Somebody {
  /** Whose rows: one customer, or all of them. */
  readonly customerIds: readonly bigint[];
  readonly emailKey: string;
  /** Everybody with the address, on whatever list; those who were erased already, while their traces are. */
  readonly subscriberIds: readonly bigint[];
  /** Who had the address before: they were deleted from their list, or have another address now. */
  readonly formerIds: readonly bigint[];
  /** Where they are in the ledgers. */
  readonly deliveries: readonly DeliveryKey[];
}

export interface DeliveryKey {
  readonly customerId: bigint;
  readonly campaignId: bigint;
  readonly subscriberId: bigint;
  /** YYYY-MM-DD. */
  readonly snapshotOn: string;
}

export interface PersonalPlace {
  /** With its schema. */
  readonly table: string;
  /** Which rows are the person's; the table is called t. */
  where(person: Somebody): Sql;
  /**
   * `at once`: by the verb, with the person. `rows`: deleted. Assignments: the row is kept for the sums, with nothing
   * in it that leads to the person.
   */
  readonly erase: 'at once' | 'rows' | ((person: Somebody) => Sql);
}

function ofCustomers({ customerIds }: Somebody): Sql {
  return sql`t.customer_id = ANY (${[...customerIds]}::bigint[])`;
}

function ofSubscribers(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND t.subscriber_id = ANY (${[...person.subscriberIds]}::bigint[])`;
}

/**
 * Rows of lists. Blocks of ids tell which lists have somebody near an id: without a list the key of these tables is of
 * no use, and all rows of the customer would be read.
 */
function ofLists(person: Somebody): Sql {
  return sql`${ofSubscribers(person)} AND t.list_id IN (
    SELECT b.list_id FROM unnest(${[...person.subscriberIds]}::bigint[]) AS i (id)
      JOIN hot.subscriber_block b ON b.block = i.id >> 11)`;
}

/** Rows of campaigns, by the keys that were found before (find-person.ts): whatever the planner believes, nothing else is read. */
function ofCampaigns({ deliveries }: Somebody): Sql {
  return sql`(t.customer_id, t.campaign_id, t.subscriber_id) IN (
    SELECT * FROM unnest(${deliveries.map(({ customerId }) => customerId)}::bigint[], ${deliveries.map(({ campaignId }) => campaignId)}::bigint[],
                         ${deliveries.map(({ subscriberId }) => subscriberId)}::bigint[]))`;
}

/** The ledger's own rows: of somebody who left the list or changed its address, those that name this address. */
function inLedger({ deliveries }: Somebody): Sql {
  return sql`(t.customer_id, t.campaign_id, t.subscriber_id, t.snapshot_on) IN (
    SELECT * FROM unnest(${deliveries.map(({ customerId }) => customerId)}::bigint[], ${deliveries.map(({ campaignId }) => campaignId)}::bigint[],
                         ${deliveries.map(({ subscriberId }) => subscriberId)}::bigint[], ${deliveries.map(({ snapshotOn }) => snapshotOn)}::date[]))`;
}

/** Addresses that the person had before, and those who had the person's. */
function formerly(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND (t.subscriber_id = ANY (${[...person.subscriberIds]}::bigint[])
    OR (t.subscriber_id = ANY (${[...person.formerIds]}::bigint[]) AND t.address_hash = ANY (
      SELECT hashtextextended(a, 0) FROM unnest(${spellingsOf(person.emailKey)}::text[]) a)))`;
}

/** The address as it is compared, and with its domain as people write it: the ledger has addresses as they were given. */
export function spellingsOf(emailKey: string): string[] {
  const at = emailKey.lastIndexOf('@');
  const written = `${emailKey.slice(0, at)}@${domainToUnicode(emailKey.slice(at + 1))}`;
  return written === emailKey ? [emailKey] : [emailKey, written];
}

const noVisitor = () => sql`subscriber_id = 0, ip = NULL, user_agent = NULL`;
const noReport = () => sql`subscriber_id = 0, message = NULL`;
/** Behind the question mark of a link stands what the template put into it about its reader. */
const noClicker = (person: Somebody) =>
  sql`${noVisitor()}, url = ${withoutAddress(person, sql`split_part(split_part(url, '?', 1), '#', 1)`)}`;

/** A text in which the address, as it is or as links write it, is no more. */
export function withoutAddress({ emailKey }: Somebody, text: Sql): Sql {
  return sql`regexp_replace(${text}, ${addressPattern(emailKey)}, '{EMAIL}', 'gi')`;
}

/** The address in both its spellings, as a regular expression. */
export function addressPattern(emailKey: string): string {
  return [emailKey, encodeURIComponent(emailKey)].map((text) => text.replace(/[^\p{L}\p{N}@%]/gu, '\\$&')).join('|');
}

/** In the order in which they are erased. */
export const PERSONAL_PLACES: readonly PersonalPlace[] = [
  place('public.subscriber', byKey, 'at once'),
  place('public.consent_event', ofLists, 'at once'),
  place('hot.subscriber_activity', ofLists, 'at once'),
  place('hot.unsubscribe_notice', ofLists, 'at once'),
  place('public.suppression', byKey, 'at once'),
  place('hot.soft_bounce', byKey, 'rows'),
  place(
    'public.import_rejection',
    inCells,
    () => sql`cells = '[]', reason_code = 'person_erased', reason_params = NULL`,
  ),
  place('public.test_message', tested, 'rows'),
  place('hot.open_event', ofCampaigns, noVisitor),
  place('hot.click_event', ofCampaigns, noClicker),
  place('hot.unsubscribe_event', ofCampaigns, noVisitor),
  place('hot.bounce_event', ofCampaigns, noReport),
  place('hot.feedback_event', ofCampaigns, noReport),
  place('hot.recipient_link', ofCampaigns, 'rows'),
  place('hot.recipient_activity', ofCampaigns, 'rows'),
  place('hot.runtime_message', ofCampaigns, 'rows'),
  // The ledger balances: its row stays, as one of nobody. These two last, because they tell which campaigns to look through.
  place('hot.delivery', inLedger, () => sql`email = '', reply = NULL, reason = NULL, runtime_message_id = NULL`),
  place('hot.former_address', formerly, 'rows'),
];

function place(table: string, where: PersonalPlace['where'], erase: PersonalPlace['erase']): PersonalPlace {
  return { table, where, erase };
}

function byKey(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND t.email_key = ${person.emailKey}`;
}

/** Tests that went to the address, or were filled with the person's values. */
function tested(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND (lower(t.email) = ${person.emailKey} OR t.subscriber_id = ANY (${[...person.subscriberIds]}::bigint[]))`;
}

function inCells(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND position(${person.emailKey} IN lower(t.cells)) > 0`;
}

/** The person's rows of one place. */
export function rowsOf({ table, where }: PersonalPlace, person: Somebody): Sql {
  return sql`FROM ${raw(table)} t WHERE ${where(person)}`;
}
