/** Writes of sending servers, and the reads that the verbs need. */
import { join, sql, type Queryable } from '../../db/database.ts';
import { assignments, insertion, selectList, columnsOf } from '../../db/fields.ts';
import { serverColumns, serverFields, storedServerColumns } from './sending-server-fields.ts';
import { chosenServerIds } from './sending-server-read-model.ts';
import type { SendingServer, ServerValues, StoredServer } from './sending-server.ts';

const SENDING_SERVER_ROW = columnsOf(serverColumns);

const STORED_SERVER_ROW = columnsOf(storedServerColumns);

export async function insertServer(db: Queryable, server: ServerValues): Promise<SendingServer> {
  const warmUpStartedAt = server.warmUp ? sql`now()` : null;
  const [row] = await db.query(
    SENDING_SERVER_ROW,
    sql`
    INSERT INTO sending_server ${insertion(serverFields, { ...server, warmUpStartedAt })} RETURNING ${selectList(serverColumns)}`,
  );
  if (!row) throw new Error('An inserted sending server came back empty.');
  return row;
}

/** Writes the given values. */
export async function updateServerRow(db: Queryable, server: SendingServer, changes: ServerValues): Promise<void> {
  const written = assignments(serverFields, { ...changes, ...warmUpOf(changes) });
  if (changes.warmUp === null) await db.execute(sql`DELETE FROM hot.warm_up_day WHERE server_id = ${server.id}`);
  await db.execute(sql`
    UPDATE sending_server SET ${join([sql`updated_at = now()`, ...written])}
     WHERE customer_id = ${server.customerId} AND id = ${server.id}`);
}

/** A warm-up starts if there was none; a changed schedule continues with the present day, and ends a stop. */
function warmUpOf({ warmUp }: ServerValues): ServerValues {
  if (warmUp === undefined) return {};
  const warmUpStartedAt = warmUp === null ? null : sql`coalesce(warm_up_started_at, now())`;
  return { warmUpStartedAt, warmUpStoppedAt: null, warmUpStopReason: null };
}

export async function deleteServerRow(db: Queryable, server: SendingServer): Promise<void> {
  await db.execute(sql`DELETE FROM sending_server WHERE customer_id = ${server.customerId} AND id = ${server.id}`);
}

/** The customer's server with this uid; `lock` prevents others from changing or deleting it. */
export async function findServer(
  db: Queryable,
  key: { customerId: bigint; uid: string },
  lock = false,
): Promise<StoredServer | undefined> {
  const [row] = await db.query(
    STORED_SERVER_ROW,
    sql`
    SELECT ${selectList(storedServerColumns)} FROM sending_server
     WHERE customer_id = ${key.customerId} AND uid = ${key.uid} ${lock ? sql`FOR UPDATE` : sql``}`,
  );
  return row;
}

export async function serverExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM sending_server WHERE uid = ${uid} LIMIT 1`)) > 0;
}

export async function countServers(db: Queryable, customerId: bigint): Promise<number> {
  const [row] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM sending_server WHERE customer_id = ${customerId}`,
  );
  return row?.count ?? 0;
}

/**
 * Names of campaigns that need this server, at most `max`: unfinished ones that would use it now (those of the owner, and for a
 * system server those of every customer without a better one), and those that can be run and name it (decision D60).
 */
export async function campaignsThrough(
  db: Queryable,
  server: SendingServer,
  max: number,
): Promise<{ name: string; isOwn: boolean }[]> {
  return db.query(
    { name: 'text', isOwn: 'bool' },
    sql`
    SELECT c.name, c.customer_id = ${server.customerId} AS "isOwn"
      FROM campaign c
     WHERE (c.customer_id = ${server.customerId} OR ${server.isSystem})
       AND (c.status IN ('scheduled', 'queued', 'sending', 'paused')
              AND ${server.id} IN (${chosenServerIds({ customerId: sql`c.customer_id`, campaignRoutes: sql`c.sending_servers` })})
            OR c.status IN ('ready', 'error') AND c.sending_servers @> ${JSON.stringify([{ uid: server.uid }])}::jsonb)
     ORDER BY "isOwn" DESC, c.id LIMIT ${max}`,
  );
}

/** Lets a warm-up that stopped go on. What the server had bounced is history: the share begins anew. */
export async function liftWarmUpStop(db: Queryable, { customerId, id }: SendingServer): Promise<void> {
  // A new version makes every process open it again.
  await db.execute(sql`
    UPDATE sending_server SET warm_up_stopped_at = NULL, warm_up_stop_reason = NULL, updated_at = now()
     WHERE customer_id = ${customerId} AND id = ${id}`);
  await db.execute(sql`UPDATE hot.warm_up_day SET sent = 0, bounced = 0 WHERE server_id = ${id}`);
}
