/** Rows of the numbers of connections that sending servers have now (hot.sending_connections). */
import { row, sql, type Queryable, type RowOf, type Sql } from '../../../db/database.ts';
import { GONE_SECONDS, PROCESS_ID } from '../../../lib/process-id.ts';
import { CONNECTIONS_MIN, firstGrowth } from './connection-growth.ts';

/** Another process decides when the one that did has had nothing to send for so long. */
const DECIDER_SECONDS = 5;
/** After this without mail the number begins anew: what the server took then says little about now. */
const KNOWN_FOR = sql`interval '1 hour'`;

const IS_SEEN = sql`p.seen_at > now() - make_interval(secs => ${GONE_SECONDS})`;
/**
 * A process that may send now or later. Its share is the others' when it has left, or was not seen for some seconds: one that only
 * says that its worker is interrupted may still have connections.
 */
const SENDS = sql`'worker' = ANY(p.roles) AND p.seen_since IS NOT NULL AND ${IS_SEEN}`;
/**
 * Columns: how many processes send mail, this one included, whether or not the others know it yet; and for how long they can have
 * known it, in milliseconds (0: they know it no longer; null: this process has no row).
 */
export const SENDING_PROCESSES: Sql = sql`(SELECT 1 + count(*) FROM hot.process p WHERE p.id <> ${PROCESS_ID}::uuid AND ${SENDS})::int AS processes,
  (SELECT CASE WHEN ${IS_SEEN} THEN extract(epoch FROM clock_timestamp() - p.seen_since)::float8 * 1000 ELSE 0 END
     FROM hot.process p WHERE p.id = ${PROCESS_ID}::uuid) AS "knownMs"`;

/** The present number of a server by its row `c`, which may be missing; not limited by the server's own largest number. */
export const CONNECTIONS_NOW: Sql = sql`CASE WHEN c.decider_until > now() - ${KNOWN_FOR} THEN greatest(c.connections, ${CONNECTIONS_MIN}) ELSE ${CONNECTIONS_MIN} END::int`;

const SHARED_NUMBER = row({
  connections: 'int',
  ceiling: 'int?',
  /** How much longer the number stays at or below the ceiling, below zero when that is over; null: from the next round on. */
  heldMs: 'float8?',
  holdMs: 'int',
  version: 'int',
  /** This process is the one that raises the number. */
  isMine: 'bool',
  processes: 'int',
  knownMs: 'float8?',
});
export type SharedNumber = RowOf<typeof SHARED_NUMBER>;

const COLUMNS = sql`c.connections, c.ceiling, extract(epoch FROM c.held_until - clock_timestamp())::float8 * 1000 AS "heldMs", c.hold_ms AS "holdMs",
  c.version, ${SENDING_PROCESSES}`;

/**
 * Reads the number, and makes this process the one that raises it if no other does; undefined: another is just making the row, or
 * the server was deleted.
 */
export async function readNumber(
  db: Queryable,
  { serverId, decider }: { serverId: bigint; decider: string },
): Promise<SharedNumber | undefined> {
  const [found] = await db.query(
    SHARED_NUMBER,
    sql`WITH mine AS (
          INSERT INTO hot.sending_connections AS c (server_id, connections, hold_ms, decider, decider_until)
          SELECT s.id, ${CONNECTIONS_MIN}, ${firstGrowth().holdMs}::int, ${decider}::uuid, ${soon}
            FROM sending_server s WHERE s.id = ${serverId} FOR KEY SHARE
          ON CONFLICT (server_id) DO UPDATE
            SET decider = excluded.decider, decider_until = excluded.decider_until,
                connections = ${CONNECTIONS_NOW}, ceiling = CASE WHEN ${isKnown} THEN c.ceiling END,
                held_until = CASE WHEN ${isKnown} THEN c.held_until END, hold_ms = CASE WHEN ${isKnown} THEN c.hold_ms ELSE excluded.hold_ms END,
                version = c.version + CASE WHEN ${isKnown} THEN 0 ELSE 1 END
            WHERE c.decider = excluded.decider OR c.decider_until < clock_timestamp()
          RETURNING c.*)
        SELECT ${COLUMNS}, true AS "isMine" FROM mine c
        UNION ALL
        SELECT ${COLUMNS}, false FROM hot.sending_connections c WHERE c.server_id = ${serverId} AND NOT EXISTS (SELECT 1 FROM mine)`,
    'sending.read-connections',
  );
  return found;
}

const isKnown = sql`c.decider_until > now() - ${KNOWN_FOR}`;
const soon = sql`clock_timestamp() + make_interval(secs => ${DECIDER_SECONDS})`;

export type WrittenNumber = Pick<SharedNumber, 'connections' | 'ceiling' | 'heldMs' | 'holdMs' | 'version'>;

/** Changes the number, unless another process changed it first; returns whether it was changed. */
export async function writeNumber(db: Queryable, serverId: bigint, number: WrittenNumber): Promise<boolean> {
  const { connections, ceiling, holdMs, version } = number;
  const changed = await db.execute(
    sql`UPDATE hot.sending_connections
           SET connections = ${connections}::int, ceiling = ${ceiling}::int, held_until = ${heldUntil(number)}, hold_ms = ${holdMs}::int, version = version + 1
         WHERE server_id = ${serverId} AND version = ${version}::int`,
    'sending.write-connections',
  );
  return changed > 0;
}

/**
 * Lowers the number whatever another process made of it meanwhile: a cut must not be lost, and never raises. False: the row is not
 * as it was given, since another process changed it.
 */
export async function lowerNumber(db: Queryable, serverId: bigint, number: WrittenNumber): Promise<boolean> {
  const { connections, ceiling, holdMs, version } = number;
  const [lowered] = await db.query(
    { version: 'int', connections: 'int' },
    sql`UPDATE hot.sending_connections
           SET connections = least(connections, ${connections}::int), ceiling = coalesce(${ceiling}::int, ceiling), held_until = ${heldUntil(number)}, hold_ms = ${holdMs}::int, version = version + 1
         WHERE server_id = ${serverId} RETURNING version, connections`,
    'sending.lower-connections',
  );
  return lowered?.version === version + 1 && lowered.connections === connections;
}

function heldUntil({ heldMs }: WrittenNumber): Sql {
  return sql`clock_timestamp() + make_interval(secs => ${heldMs === null ? null : heldMs / 1_000}::float8)`;
}

/** Of a server `s` as it is shown. Servers of other than the growing types have their fixed number. */
function shownNumber(growing: readonly string[]): Sql {
  return sql`CASE WHEN c.server_id IS NULL AND NOT s.type = ANY (${[...growing]}::text[]) THEN s.connections_max ELSE least(${CONNECTIONS_NOW}, s.connections_max) END`;
}

/** The present numbers of these servers. */
export function connectionsOfServers(db: Queryable, serverIds: readonly bigint[], growing: readonly string[]) {
  return db.query(
    { serverId: 'bigint', connections: 'int' },
    sql`SELECT s.id AS "serverId", ${shownNumber(growing)} AS connections
          FROM sending_server s LEFT JOIN hot.sending_connections c ON c.server_id = s.id WHERE s.id = ANY (${[...serverIds]}::bigint[])`,
    'sending.connections-of-servers',
  );
}

/** The same for monitoring: of each active system server by its uid, and of all servers of customers together. */
export function connectionsInAll(db: Queryable, growing: readonly string[]) {
  return db.query(
    { server: 'text', connections: 'int' },
    sql`SELECT CASE WHEN s.is_system THEN s.uid ELSE 'customers' END AS server, sum(${shownNumber(growing)})::int AS connections
          FROM sending_server s LEFT JOIN hot.sending_connections c ON c.server_id = s.id WHERE s.status = 'active' GROUP BY 1 ORDER BY 1 LIMIT 10000`,
    'sending.connections-in-all',
  );
}
