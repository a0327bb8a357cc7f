/** Writes of requests of vendors: keeping them, noting replays, deleting old ones. */
import { sql, type Queryable } from '../../db/database.ts';
import { REQUEST_DAYS_KEPT, SERVER_BYTES_KEPT_MAX, type KeptRequest } from './vendor-request.ts';

/** The sending server that the vendor reports about. */
export interface RequestOwner {
  readonly customerId: bigint;
  readonly serverId: bigint;
  readonly type: string;
  readonly uid: string;
  readonly isSystem: boolean;
}

/** Keeps requests about one server. */
export async function insertVendorRequests(
  db: Queryable,
  { customerId, serverId, type, uid, isSystem }: RequestOwner,
  kept: readonly KeptRequest[],
): Promise<void> {
  if (kept.length === 0) return;
  const requests = kept.map(({ request }) => request);
  await db.execute(
    sql`INSERT INTO hot.vendor_request (customer_id, server_id, type, server_uid, is_system, received_at, method, query, headers, payload, event_count, fault,
                                        address_hashes)
        SELECT ${customerId}, ${serverId}, ${type}, ${uid}, ${isSystem}, k.at, k.method, k.query, k.headers, k.payload, k.event_count, k.fault,
               ARRAY(SELECT hashtextextended(a, 0) FROM json_array_elements_text(k.addresses) a)
          FROM unnest(${requests.map(({ receivedAt }) => receivedAt)}::timestamptz[], ${requests.map(({ method }) => method)}::text[],
                      ${requests.map(({ query }) => JSON.stringify(query))}::json[], ${requests.map(({ headers }) => JSON.stringify(headers))}::json[],
                      ${requests.map(({ body }) => Buffer.from(body))}::bytea[], ${kept.map(({ eventCount }) => eventCount)}::int[],
                      ${kept.map(({ fault }) => fault)}::text[],
                      ${kept.map(({ addresses }) => JSON.stringify(addresses))}::json[]) AS k(at, method, query, headers, payload, event_count, fault, addresses)`,
    'bounces.keep_vendor_requests',
  );
}

/** Notes that a request was read once more, and how it went. */
export async function noteReplay(
  db: Queryable,
  { customerId, id }: { readonly customerId: bigint; readonly id: bigint },
  { eventCount, fault }: Pick<KeptRequest, 'eventCount' | 'fault'>,
): Promise<void> {
  await db.execute(
    sql`UPDATE hot.vendor_request SET event_count = ${eventCount}, fault = ${fault}, replay_count = replay_count + 1, replayed_at = now()
         WHERE customer_id = ${customerId} AND id = ${id}`,
  );
}

/** One statement: short locks, and little to do again after a crash. */
const DELETED_AT_ONCE = 5_000;

/** Deletes requests that are too old, and the oldest of servers with too many bytes. */
export async function dropOldVendorRequests(
  { db }: { readonly db: Queryable },
  bytesMax = SERVER_BYTES_KEPT_MAX,
): Promise<void> {
  for (;;) {
    const dropped = await db.execute(
      sql`DELETE FROM hot.vendor_request WHERE (customer_id, id) IN (
            SELECT customer_id, id FROM hot.vendor_request WHERE received_at < now() - make_interval(days => ${REQUEST_DAYS_KEPT})
             ORDER BY received_at LIMIT ${DELETED_AT_ONCE})`,
    );
    if (dropped < DELETED_AT_ONCE) break;
  }
  const [size] = await db.query({ bytes: 'bigint' }, sql`SELECT pg_total_relation_size('hot.vendor_request') AS bytes`);
  // To count the bytes of each server is to read the whole table.
  if (Number(size?.bytes ?? 0) > bytesMax) await dropExcess(db, bytesMax);
}

/** As they are stored. A request may have nothing but headers and a long address. */
const ROW_BYTES = sql`(pg_column_size(payload) + pg_column_size(headers) + pg_column_size(query) + pg_column_size(address_hashes))`;

function dropExcess(db: Queryable, bytesMax: number): Promise<number> {
  return db.execute(
    sql`DELETE FROM hot.vendor_request WHERE (customer_id, id) IN (
          SELECT customer_id, id FROM (
            SELECT customer_id, id, sum(${ROW_BYTES}) OVER (PARTITION BY server_id ORDER BY received_at DESC, id DESC) AS bytes FROM hot.vendor_request
          ) counted WHERE bytes > ${bytesMax})`,
  );
}
