/** Reads what a transactional mail is made from, and the files that go with it. */
import { sql, row, type Queryable, type RowOf } from '../../../db/database.ts';
import type { TemplateKind } from '../../content/templates/template.ts';
import { typed } from '../../../db/row.ts';

interface TemplateKey {
  readonly customerId: bigint;
  readonly id: bigint;
}

const TEMPLATE_HEAD = row({ uid: 'text', version: 'int', kind: typed<TemplateKind>('text') });
export type TemplateHead = RowOf<typeof TEMPLATE_HEAD>;

/** Which version of which template it is; undefined: it was deleted. */
export async function templateHead(db: Queryable, { customerId, id }: TemplateKey): Promise<TemplateHead | undefined> {
  const [head] = await db.query(
    TEMPLATE_HEAD,
    sql`SELECT uid, version, kind FROM template WHERE customer_id = ${customerId} AND id = ${id}`,
    'transactional.template-head',
  );
  return head;
}

/** Its texts. */
export async function templateTexts(db: Queryable, { customerId, id }: TemplateKey) {
  const [texts] = await db.query(
    { subject: 'text', preheader: 'text', html: 'text', plain: 'text' },
    sql`SELECT subject, preheader, html, plain FROM template WHERE customer_id = ${customerId} AND id = ${id}`,
  );
  return texts;
}

/** Undefined: the customer is gone. */
export async function customerUidOf(db: Queryable, customerId: bigint): Promise<string | undefined> {
  const [customer] = await db.query({ uid: 'text' }, sql`SELECT uid FROM customer WHERE id = ${customerId}`);
  return customer?.uid;
}

const MAIL_FILE = row({
  name: 'text',
  type: 'text',
  /** Null: the bytes are those of an uploaded file. */
  bytes: 'bytea?',
  /** Null beside no bytes: the uploaded file was deleted. */
  fileId: 'bigint?',
});
export type StoredMailFile = RowOf<typeof MAIL_FILE>;

/** The files of a message, in their order. */
export function filesOfMail(
  db: Queryable,
  { customerId, messageId }: { readonly customerId: bigint; readonly messageId: bigint },
): Promise<StoredMailFile[]> {
  return db.query(
    MAIL_FILE,
    sql`SELECT m.name, m.type, m.bytes, f.id AS "fileId" FROM hot.message_file m
          LEFT JOIN uploaded_file f ON f.customer_id = m.customer_id AND f.id = m.file_id AND f.status = 'ready'
         WHERE m.customer_id = ${customerId} AND m.message_id = ${messageId} ORDER BY m.no`,
  );
}
