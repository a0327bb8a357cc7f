/** Writes of sending servers, and the reads that the verbs need. */
import { empty, join, sql, type Queryable, type Sql } from '../../db/database.ts';
import type { DriverSettings } from '../../plugin-api/index.ts';
import { chosenServerIds } from './choose-server.ts';
import type { DomainLimits } from './routing/domain-limits.ts';
import type { WarmUpSchedule } from './routing/warm-up.ts';
import type { QuotaColumns, SendingServer } from './sending-server.ts';

const COLUMNS = sql`customer_id AS "customerId", id, uid, name, type, is_system AS "isSystem", status`;

/** Undefined leaves alone, null clears. */
export interface PaceColumns {
  readonly domainLimits?: DomainLimits | null | undefined;
  readonly warmUp?: WarmUpSchedule | null | undefined;
}

export interface NewServer extends QuotaColumns, PaceColumns {
  readonly customerId: bigint;
  readonly uid: string;
  readonly name: string;
  readonly type: string;
  readonly settings: DriverSettings;
  readonly sealedSettings: Buffer;
  readonly isSystem: boolean;
  readonly defaultFromEmail: string;
  readonly connectionsMax: number;
}

export interface StoredSettings {
  readonly settings: unknown;
  readonly sealedSettings: Buffer | null;
}

export async function insertServer(db: Queryable, server: NewServer): Promise<SendingServer> {
  const [row] = await db.query<SendingServer>(sql`
    INSERT INTO sending_server (customer_id, uid, name, type, settings, sealed_settings, is_system, default_from_email,
                                quota_value, quota_base, quota_unit, connections_max, domain_limits, warm_up, warm_up_started_at)
    VALUES (${server.customerId}, ${server.uid}, ${server.name}, ${server.type}, ${JSON.stringify(server.settings)}::jsonb,
            ${server.sealedSettings}, ${server.isSystem}, ${server.defaultFromEmail}, ${server.quotaValue},
            ${server.quotaBase}, ${server.quotaUnit}, ${server.connectionsMax},
            ${JSON.stringify(server.domainLimits ?? {})}::jsonb, ${server.warmUp ? JSON.stringify(server.warmUp) : null}::jsonb,
            ${server.warmUp ? sql`now()` : sql`NULL`})
    RETURNING ${COLUMNS}`);
  if (!row) throw new Error('An inserted sending server came back empty.');
  return row;
}

export interface ServerChanges extends Partial<QuotaColumns>, PaceColumns {
  readonly name?: string | undefined;
  readonly status?: string | undefined;
  readonly defaultFromEmail?: string | undefined;
  readonly settings?: DriverSettings;
  readonly sealedSettings?: Buffer;
  readonly connectionsMax?: number;
}

/** Writes what is given and leaves the rest. */
export async function updateServerRow(db: Queryable, server: SendingServer, changes: ServerChanges): Promise<void> {
  const { settings } = changes;
  const assignments: Sql[] = [sql`updated_at = now()`];
  if (changes.name !== undefined) assignments.push(sql`name = ${changes.name}`);
  if (changes.status !== undefined) assignments.push(sql`status = ${changes.status}`);
  if (changes.defaultFromEmail !== undefined) assignments.push(sql`default_from_email = ${changes.defaultFromEmail}`);
  if (changes.connectionsMax !== undefined) assignments.push(sql`connections_max = ${changes.connectionsMax}`);
  if (settings !== undefined)
    assignments.push(sql`settings = ${JSON.stringify(settings)}::jsonb, sealed_settings = ${changes.sealedSettings}`);
  if (changes.quotaValue !== undefined) {
    assignments.push(
      sql`quota_value = ${changes.quotaValue}, quota_base = ${changes.quotaBase}, quota_unit = ${changes.quotaUnit}`,
    );
  }
  assignments.push(...paceAssignments(changes));
  if (changes.warmUp === null) await db.execute(sql`DELETE FROM hot.warm_up_day WHERE server_id = ${server.id}`);
  await db.execute(
    sql`UPDATE sending_server SET ${join(assignments)} WHERE customer_id = ${server.customerId} AND id = ${server.id}`,
  );
}

/** A warm-up begins when there was none; a changed schedule goes on with the day it is on, and lifts a stop. */
function paceAssignments({ domainLimits, warmUp }: PaceColumns): Sql[] {
  const limits = domainLimits === undefined ? empty : sql`domain_limits = ${JSON.stringify(domainLimits ?? {})}::jsonb`;
  const schedule =
    warmUp === undefined
      ? empty
      : sql`warm_up = ${warmUp ? JSON.stringify(warmUp) : null}::jsonb, warm_up_stopped_at = NULL, warm_up_stop_reason = NULL,
            warm_up_started_at = ${warmUp ? sql`coalesce(warm_up_started_at, now())` : sql`NULL`}`;
  return [limits, schedule].filter((part) => part !== empty);
}

export async function deleteServerRow(db: Queryable, server: SendingServer): Promise<void> {
  await db.execute(sql`DELETE FROM sending_server WHERE customer_id = ${server.customerId} AND id = ${server.id}`);
}

/** The customer's server with this uid; `lock` keeps others from changing or deleting it. */
export async function findServer(
  db: Queryable,
  key: { customerId: bigint; uid: string },
  lock = false,
): Promise<(SendingServer & StoredSettings & QuotaColumns) | undefined> {
  const [row] = await db.query<SendingServer & StoredSettings & QuotaColumns>(sql`
    SELECT ${COLUMNS}, settings, sealed_settings AS "sealedSettings",
           quota_value AS "quotaValue", quota_base AS "quotaBase", quota_unit AS "quotaUnit"
      FROM sending_server
     WHERE customer_id = ${key.customerId} AND uid = ${key.uid} ${lock ? sql`FOR UPDATE` : sql``}`);
  return row;
}

export async function serverExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.query(sql`SELECT 1 FROM sending_server WHERE uid = ${uid} LIMIT 1`)).length > 0;
}

export async function countServers(db: Queryable, customerId: bigint): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    sql`SELECT count(*)::int AS count FROM sending_server WHERE customer_id = ${customerId}`,
  );
  return row?.count ?? 0;
}

/**
 * Names of unfinished campaigns that would go through this server now, at most `max`: those of the owner, and for a
 * system server those of every customer who has no better one.
 */
export async function campaignsThrough(
  db: Queryable,
  server: SendingServer,
  max: number,
): Promise<{ name: string; isOwn: boolean }[]> {
  return db.query<{ name: string; isOwn: boolean }>(sql`
    SELECT c.name, c.customer_id = ${server.customerId} AS "isOwn"
      FROM campaign c
     WHERE c.status IN ('scheduled', 'queued', 'sending', 'paused')
       AND (c.customer_id = ${server.customerId} OR ${server.isSystem})
       AND ${server.id} IN (${chosenServerIds({ customerId: sql`c.customer_id`, campaignRoutes: sql`c.sending_servers` })})
     ORDER BY "isOwn" DESC, c.id LIMIT ${max}`);
}
