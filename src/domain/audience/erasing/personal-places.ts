/**
 * Every place of the database that holds something of a person on a list, and what becomes of it when the person is
 * erased: one table for exporting and erasing, so that neither can forget what the other knows. A test walks the
 * tables for addresses and subscribers' ids: a new one must be added here.
 */
import { raw, sql, type Sql } from '../../../db/database.ts';

/** Somebody, as the rows know him. */
export interface Somebody {
  /** Whose rows: one customer, or all of them. */
  readonly customerIds: readonly bigint[];
  readonly emailKey: string;
  /** Everybody with the address, on whatever list; those who were erased already, while their traces are. */
  readonly subscriberIds: readonly bigint[];
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

/**
 * Rows of campaigns. Only campaigns that have such a person in their ledger are looked through: that is one look-up
 * by key for each campaign, and events have no other key than their campaign.
 */
function ofCampaigns(person: Somebody): Sql {
  return sql`${ofSubscribers(person)} AND (t.customer_id, t.campaign_id) IN (
    SELECT c.customer_id, c.id FROM campaign c
      CROSS JOIN unnest(${[...person.subscriberIds]}::bigint[]) AS i (id)
     WHERE c.customer_id = ANY (${[...person.customerIds]}::bigint[]) AND EXISTS (
       SELECT 1 FROM hot.delivery d
        WHERE d.customer_id = c.customer_id AND d.campaign_id = c.id AND d.planned_on = c.planned_on AND d.subscriber_id = i.id
       -- Keeps it a look-up: as a join it would read every recipient of every campaign.
       OFFSET 0))`;
}

/** A ledger's rows by their person, or by the address alone: of somebody who was deleted before. */
function inLedger(person: Somebody): Sql {
  return sql`${ofCustomers(person)} AND (t.subscriber_id = ANY (${[...person.subscriberIds]}::bigint[]) OR lower(t.email) = ${person.emailKey})`;
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
  place('public.import_rejection', inCells, () => sql`cells = '[]', reason = 'the person was erased'`),
  place('public.test_message', tested, 'rows'),
  place('hot.open_event', ofCampaigns, noVisitor),
  place('hot.click_event', ofCampaigns, noClicker),
  place('hot.unsubscribe_event', ofCampaigns, noVisitor),
  place('hot.bounce_event', ofCampaigns, noReport),
  place('hot.feedback_event', ofCampaigns, noReport),
  place('hot.recipient_link', ofCampaigns, 'rows'),
  place('hot.recipient_activity', ofCampaigns, 'rows'),
  place('hot.runtime_message', ofCampaigns, 'rows'),
  // The ledger balances: its row stays, as one of nobody. Last, because it tells which campaigns to look through.
  place('hot.delivery', inLedger, () => sql`email = '', reply = NULL, reason = NULL, runtime_message_id = NULL`),
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
