/** The received mails in the database: the newest ones, read page by page. */
import { empty, join, sql, row, type Database, type Sql, type RowOf } from '../db/database.ts';
import type { ReceivedMessage } from './inbox-server.ts';
import { subjectOf } from './parse-message.ts';

/** Enough for several demonstration campaigns; older mails are deleted. */
export const MESSAGES_KEPT_MAX = 5_000;

/** What a list shows of a mail. */
export interface InboxEntry {
  readonly id: number;
  readonly receivedAt: Date;
  readonly mailFrom: string;
  readonly rcptTo: readonly string[];
  readonly subject: string;
  readonly size: number;
}

export interface PageQuery {
  /** Only what is older than this id. */
  readonly before?: number;
  /** Only what is newer than this id: the page next to it. */
  readonly after?: number;
  /** Part of a recipient's address; upper and lower case are the same. */
  readonly to?: string;
  readonly limit: number;
}

/** Newest first. */
export interface InboxPage {
  readonly entries: readonly InboxEntry[];
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
}

export interface InboxStore {
  /** Stores these messages, all or none, and deletes the oldest beyond the limit. */
  storeBatch(messages: readonly ReceivedMessage[]): Promise<void>;
  page(query: PageQuery): Promise<InboxPage>;
  /** What a list shows of this mail. */
  find(id: number): Promise<InboxEntry | undefined>;
  /** The mail as it came. */
  readRaw(id: number): Promise<Buffer | undefined>;
  clear(): Promise<void>;
}

const ROW = row({
  id: 'bigint',
  received_at: 'timestamptz',
  mail_from: 'text',
  rcpt_to: 'text[]',
  subject: 'text',
  size: 'int',
});
type Row = RowOf<typeof ROW>;

/** The inbox of this installation; several processes may share it. */
export function createInboxStore(database: Database): InboxStore {
  return {
    storeBatch: (messages) => storeBatch(database, messages),
    page: (query) => readPage(database, query),
    find: (id) => findEntry(database, id),
    readRaw: (id) => database.readBytes(sql`SELECT raw FROM inbox.message WHERE id = ${id}`),
    clear: async () => void (await database.execute(sql`DELETE FROM inbox.message`)),
  };
}

async function storeBatch(database: Database, messages: readonly ReceivedMessage[]): Promise<void> {
  if (messages.length === 0) return;
  const rows = messages.map(({ mailFrom, rcptTo, raw }) => {
    const recipients = rcptTo.map(withoutNul);
    return sql`(${withoutNul(mailFrom)}::text, ${recipients}::text[], ${withoutNul(subjectOf(raw))}::text, ${raw.length}::int, ${raw}::bytea)`;
  });
  // ids count messages, so the limit is a range of the key: nothing is counted
  await database.execute(sql`
    WITH stored AS (
      INSERT INTO inbox.message (mail_from, rcpt_to, subject, size, raw) VALUES ${join(rows)} RETURNING id
    )
    DELETE FROM inbox.message WHERE id <= (SELECT max(id) FROM stored) - ${MESSAGES_KEPT_MAX}::int`);
}

async function readPage(database: Database, query: PageQuery): Promise<InboxPage> {
  const isBackwards = query.after !== undefined;
  const conditions = [
    query.before === undefined ? empty : sql`AND id < ${query.before}::bigint`,
    query.after === undefined ? empty : sql`AND id > ${query.after}::bigint`,
    query.to === undefined ? empty : sql`AND position(lower(${query.to}) IN lower(array_to_string(rcpt_to, ' '))) > 0`,
  ];
  const rows = await database.query(
    ROW,
    sql`
    SELECT id, received_at, mail_from, rcpt_to, subject, size FROM inbox.message
    WHERE true ${joinConditions(conditions)}
    ORDER BY id ${isBackwards ? sql`ASC` : sql`DESC`} LIMIT ${query.limit + 1}`,
  );
  const hasMore = rows.length > query.limit;
  const entries = rows.slice(0, query.limit).map(entryOf);
  if (isBackwards) return { entries: entries.toReversed(), hasOlder: true, hasNewer: hasMore };
  return { entries, hasOlder: hasMore, hasNewer: query.before !== undefined };
}

async function findEntry(database: Database, id: number): Promise<InboxEntry | undefined> {
  const [row] = await database.query(
    ROW,
    sql`SELECT id, received_at, mail_from, rcpt_to, subject, size FROM inbox.message WHERE id = ${id}::bigint`,
  );
  return row && entryOf(row);
}

function entryOf(row: Row): InboxEntry {
  return {
    id: Number(row.id),
    receivedAt: row.received_at,
    mailFrom: row.mail_from,
    rcptTo: row.rcpt_to,
    subject: row.subject,
    size: row.size,
  };
}

function joinConditions(conditions: readonly Sql[]): Sql {
  return join([...conditions], ' ');
}

/** Postgres takes no NUL in text. */
function withoutNul(text: string): string {
  return text.replaceAll('\0', '');
}
