/** Reads and writes the texts that owners gave to their lists' mails. */
import { sql, typed, row, type Queryable } from '../../../db/database.ts';
import type { ListKey } from '../list-store.ts';
import { BUILT_IN_MAILS } from './built-in-mails.ts';
import { LIST_MAIL_KINDS, type ListMail, type ListMailKind, type MailTexts } from './list-mail.ts';

const LIST_MAIL_ROW = row({
  kind: typed<ListMail['kind']>('text'),
  changedAt: 'timestamptz?',
  subject: 'text',
  html: 'text',
  plain: 'text',
  listId: 'bigint',
});

/** Every kind of mail of several lists of one customer, in the order asked for: the owner's texts or the built-in ones. */
export async function mailsOfLists(
  db: Queryable,
  customerId: bigint,
  listIds: readonly bigint[],
): Promise<ListMail[][]> {
  const own = await db.query(
    LIST_MAIL_ROW,
    sql`SELECT list_id AS "listId", kind, subject, html, plain, updated_at AS "changedAt" FROM list_mail
         WHERE customer_id = ${customerId} AND list_id = ANY (${[...listIds]}::bigint[])`,
    'audience.mails_of_lists',
  );
  const byList = Map.groupBy(own, ({ listId }) => listId);
  return listIds.map((id) => LIST_MAIL_KINDS.map((kind) => mailIn(byList.get(id) ?? [], kind)));
}

/** One mail of one list. */
export async function mailOfList(db: Queryable, list: ListKey, kind: ListMailKind): Promise<ListMail> {
  const [mails = []] = await mailsOfLists(db, list.customerId, [list.id]);
  return mailIn(mails, kind);
}

function mailIn(mails: readonly ListMail[], kind: ListMailKind): ListMail {
  return mails.find((mail) => mail.kind === kind) ?? { kind, ...BUILT_IN_MAILS[kind], changedAt: null };
}

export async function writeListMail(db: Queryable, list: ListKey, mail: MailTexts & { kind: ListMailKind }) {
  await db.execute(sql`
    INSERT INTO list_mail (customer_id, list_id, kind, subject, html, plain)
    VALUES (${list.customerId}, ${list.id}, ${mail.kind}, ${mail.subject}, ${mail.html}, ${mail.plain})
    ON CONFLICT (customer_id, list_id, kind) DO UPDATE SET
      subject = excluded.subject, html = excluded.html, plain = excluded.plain, updated_at = now()`);
}

export async function removeListMail(db: Queryable, list: ListKey, kind: ListMailKind): Promise<void> {
  await db.execute(
    sql`DELETE FROM list_mail WHERE customer_id = ${list.customerId} AND list_id = ${list.id} AND kind = ${kind}`,
  );
}
