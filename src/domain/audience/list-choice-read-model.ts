/** The lists that a person may choose among on the pages of a list. */
import { row, sql, typed, type Queryable, type RowOf } from '../../db/database.ts';
import type { SubscriberStatus } from './subscriber-fields.ts';
import { isOffered, type ChoosingAddress } from './list-choice-store.ts';

/** Enough to choose among; a page of more boxes is no longer read. */
export const CHOICES_MAX = 50;

const LIST_CHOICE_ROW = row({
  id: 'bigint',
  name: 'text',
  /** Null: the address is not on it. */
  status: typed<SubscriberStatus>('text?'),
});
export type ListChoice = RowOf<typeof LIST_CHOICE_ROW>;

/**
 * The list of the page and after it, by name, those that the customer offers; none when it offers none or is disabled. Of too many,
 * those that the address is subscribed to: people see what they can leave.
 */
export function listChoices(db: Queryable, { customerId, listId, emailKey }: ChoosingAddress): Promise<ListChoice[]> {
  return db.query(
    LIST_CHOICE_ROW,
    sql`SELECT id, name, status FROM (
          SELECT l.id, l.name, s.status
            FROM mail_list l
            LEFT JOIN subscriber s ON s.customer_id = l.customer_id AND s.email_key = ${emailKey} AND s.list_id = l.id
           WHERE l.customer_id = ${customerId} AND ${isOffered(listId)}
             AND EXISTS (SELECT 1 FROM mail_list o WHERE o.customer_id = ${customerId} AND o.show_in_preferences)
           ORDER BY l.id = ${listId} DESC, s.status IS DISTINCT FROM 'subscribed', lower(l.name), l.id LIMIT ${CHOICES_MAX}) c
         ORDER BY id = ${listId} DESC, lower(name), id`,
    'audience.list_choices',
  );
}
