/** Writes of what a transactional mail has beside its message: what the log is searched by, and its files. */
import { sql, type Queryable } from '../../db/database.ts';

export interface NewMailEntry {
  readonly customerId: bigint;
  readonly messageId: bigint;
  readonly externalId: string | null;
  readonly tags: readonly string[];
}

/** A file of a message: an uploaded one (`fileId`), or its bytes. */
export interface NewMessageFile {
  readonly fileId: bigint | null;
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array | null;
}

/** Writes the entries of messages that were written in this transaction. */
export async function insertMailEntries(db: Queryable, entries: readonly NewMailEntry[]): Promise<void> {
  await db.execute(
    sql`INSERT INTO hot.transactional_mail (customer_id, message_id, recipient_id, external_id, tags)
        SELECT g.customer_id, g.message_id, m.recipient_id, g.external_id, ARRAY(SELECT jsonb_array_elements_text(g.tags))
          FROM unnest(${entries.map(({ customerId }) => customerId)}::bigint[], ${entries.map(({ messageId }) => messageId)}::bigint[],
                      ${entries.map(({ externalId }) => externalId)}::text[], ${entries.map(({ tags }) => JSON.stringify(tags))}::jsonb[])
               AS g(customer_id, message_id, external_id, tags)
          JOIN hot.message m ON m.customer_id = g.customer_id AND m.id = g.message_id`,
    'messages.mail-entries',
  );
}

/** Writes the same files for each of the customer's messages. */
export async function insertMessageFiles(
  db: Queryable,
  { customerId, messageIds }: { readonly customerId: bigint; readonly messageIds: readonly bigint[] },
  files: readonly NewMessageFile[],
): Promise<void> {
  await db.execute(sql`
    INSERT INTO hot.message_file (customer_id, message_id, no, recipient_id, file_id, name, type, bytes)
    SELECT m.customer_id, m.id, f.no, m.recipient_id, f.file_id, f.name, f.type, f.bytes
      FROM hot.message m
     CROSS JOIN unnest(${files.map(({ fileId }) => fileId)}::bigint[], ${files.map(({ name }) => name)}::text[],
                       ${files.map(({ type }) => type)}::text[], ${files.map(({ bytes }) => bytes)}::bytea[])
                WITH ORDINALITY AS f(file_id, name, type, bytes, no)
     WHERE m.customer_id = ${customerId} AND m.id = ANY (${[...messageIds]}::bigint[])`);
}

/** Gives a message the tags and the files of another one of the customer. */
export async function copyMailEntry(
  db: Queryable,
  { customerId, fromId, toId }: { readonly customerId: bigint; readonly fromId: bigint; readonly toId: bigint },
): Promise<void> {
  await db.execute(sql`
    WITH files AS (
      INSERT INTO hot.message_file (customer_id, message_id, no, recipient_id, file_id, name, type, bytes)
      SELECT customer_id, ${toId}, no, recipient_id, file_id, name, type, bytes FROM hot.message_file
       WHERE customer_id = ${customerId} AND message_id = ${fromId}
    )
    INSERT INTO hot.transactional_mail (customer_id, message_id, recipient_id, tags)
    SELECT customer_id, ${toId}, recipient_id, tags FROM hot.transactional_mail
     WHERE customer_id = ${customerId} AND message_id = ${fromId}`);
}
