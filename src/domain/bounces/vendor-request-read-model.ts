/** Reads of requests that vendors have sent. */
import { row, sql, typed, type Queryable, type RowOf, type Sql } from '../../db/database.ts';

const LISTED = row({
  customerId: 'bigint',
  id: 'bigint',
  serverId: 'bigint',
  uid: 'text',
  type: 'text',
  serverUid: 'text',
  receivedAt: 'timestamptz',
  method: typed<'GET' | 'POST'>('text'),
  byteCount: 'int',
  eventCount: 'int',
  fault: 'text?',
  replayCount: 'int',
  replayedAt: 'timestamptz?',
});
type Texts = Readonly<Record<string, string>>;
const WHOLE = row({ ...LISTED, query: typed<Texts>('json'), headers: typed<Texts>('json'), payload: 'bytea' });

/** Without what was in it. */
export type VendorRequest = RowOf<typeof LISTED>;
export type WholeVendorRequest = RowOf<typeof WHOLE>;

const listed = sql`customer_id AS "customerId", id, server_id AS "serverId", uid, type, server_uid AS "serverUid", received_at AS "receivedAt", method,
  octet_length(payload) AS "byteCount", event_count AS "eventCount", fault, replay_count AS "replayCount", replayed_at AS "replayedAt"`;

/** `read`: its events were. */
export type VendorRequestState = 'read' | 'unreadable';

export interface VendorRequestFilter {
  readonly serverUid: string | null;
  readonly state: VendorRequestState | null;
  readonly from: Date | null;
  readonly to: Date | null;
}

/** A page, the newest first. */
export function listVendorRequests(
  db: Queryable,
  filter: VendorRequestFilter,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<VendorRequest[]> {
  return db.query(
    LISTED,
    sql`SELECT ${listed} FROM hot.vendor_request WHERE ${those(filter)} ORDER BY received_at DESC, id DESC OFFSET ${offset} LIMIT ${limit}`,
  );
}

/** How many they are, counted up to `max`. */
export async function countVendorRequests(db: Queryable, filter: VendorRequestFilter, max: number): Promise<number> {
  const [counted] = await db.query(
    { total: 'int' },
    sql`SELECT count(*)::int AS total FROM (SELECT 1 FROM hot.vendor_request WHERE ${those(filter)} LIMIT ${max}) counted`,
  );
  return counted?.total ?? 0;
}

export async function wholeVendorRequest(db: Queryable, uid: string): Promise<WholeVendorRequest | undefined> {
  const [found] = await db.query(
    WHOLE,
    sql`SELECT ${listed}, query, headers, payload FROM hot.vendor_request WHERE uid = ${uid} ORDER BY id LIMIT 1`,
  );
  return found;
}

function those({ serverUid, state, from, to }: VendorRequestFilter): Sql {
  return sql`(${serverUid}::text IS NULL OR server_uid = ${serverUid}::text)
    AND (${state}::text IS NULL OR (fault IS NULL) = (${state}::text = 'read'))
    AND (${from}::timestamptz IS NULL OR received_at >= ${from}::timestamptz) AND (${to}::timestamptz IS NULL OR received_at < ${to}::timestamptz)`;
}
