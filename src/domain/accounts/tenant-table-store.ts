/**
 * Erasing rows of whichever table belongs to a customer, a list or a campaign. The tables are read from the catalogue, so
 * nothing has to be added here for a new one. Names and types of columns come from there, quoted by it.
 */
import { join, raw, row, sql, type Database, type Queryable, type RowOf } from '../../db/database.ts';
import { SOURCE_KINDS } from '../source-key.ts';
import type { Deletion } from './deletion-store.ts';

/** Referenced rows are deleted after those that refer to them; foreign keys are at most four levels deep. */
const LEVELS_MAX = 10;

const TENANT_TABLE = row({
  name: 'text',
  /** A foreign key refers to it or from it. */
  isBound: 'bool',
  /** It names the customer by its uid: a plugin's table. */
  isByUid: 'bool',
});
export type TenantTable = RowOf<typeof TENANT_TABLE>;

/**
 * The tables with a column `customer_id`, or those of plugins with a text `customer_uid` instead; those that refer to others first: plain ones and single partitions. The audit
 * trail has a rule of its own; events are without personal data, and followers must still learn what happened.
 */
export async function tenantTables(db: Queryable): Promise<readonly TenantTable[]> {
  return db.query(
    TENANT_TABLE,
    sql`
    WITH RECURSIVE tenant AS (
      SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name,
             EXISTS (SELECT 1 FROM pg_constraint k WHERE k.contype = 'f' AND c.oid IN (k.conrelid, k.confrelid)) AS is_bound,
             bool_and(a.attname = 'customer_uid') AS is_by_uid
        FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped
             AND (a.attname = 'customer_id' OR a.attname = 'customer_uid' AND a.atttypid IN ('text'::regtype, 'varchar'::regtype)
                  AND EXISTS (SELECT FROM plugin_migration m WHERE format('table %I.%I', n.nspname, c.relname) = ANY (m.objects)))
       WHERE c.relkind = 'r' AND n.nspname IN ('public', 'hot') AND c.oid NOT IN ('hot.audit_event'::regclass, 'hot.event'::regclass)
       GROUP BY c.oid, n.nspname
    ), level(oid, depth) AS (
      SELECT oid, 0 FROM tenant
      UNION
      SELECT k.conrelid, l.depth + 1 FROM level l
        JOIN pg_constraint k ON k.confrelid = l.oid AND k.contype = 'f' AND k.conrelid <> k.confrelid
       WHERE l.depth < ${LEVELS_MAX}::int
    )
    SELECT t.name, t.is_bound AS "isBound", t.is_by_uid AS "isByUid" FROM tenant t JOIN level l USING (oid)
     GROUP BY t.oid, t.name, t.is_bound, t.is_by_uid ORDER BY max(l.depth) DESC, t.name`,
  );
}

/** Deletes at most `max` rows of the customer from one of these tables. Answers how many they were. */
export function eraseRowsOfCustomer(
  database: Database,
  { name, isByUid }: TenantTable,
  { customerId, max }: { customerId: bigint; max: number },
): Promise<number> {
  const ofCustomer = isByUid
    ? sql`customer_uid = (SELECT uid FROM customer WHERE id = ${customerId})`
    : sql`customer_id = ${customerId}`;
  return database.transaction(async (tx) => {
    // Statistics are out of date: an index must be used even for a customer that had most of a table.
    await tx.execute(sql`SELECT set_config('enable_seqscan', 'off', true)`);
    return tx.execute(sql`
      DELETE FROM ${raw(name)} WHERE ${ofCustomer} AND ctid = ANY(ARRAY(
        SELECT ctid FROM ${raw(name)} WHERE ${ofCustomer} LIMIT ${max}))`);
  });
}

/** The table whose rows are counted, and the columns of the owner, in the order of an index. */
const TARGETS = {
  list: { counted: 'public.subscriber', owners: sql`(VALUES ('list_id', NULL))` },
  campaign: {
    counted: 'hot.delivery',
    owners: sql`(VALUES ('campaign_id', NULL), ('source_id', 'source_kind'))`,
  },
} as const;

/** Statistics are out of date: rows must be found by the index. */
const BY_INDEX = sql`SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`;

const GATHERED_TABLE = row({
  table: 'text',
  /** The condition for rows of a list or campaign, up to the id. */
  owned: 'text',
  /** The column after customer and list or campaign in an index, and its type. */
  key: 'text',
  type: 'text',
  /** Its rows are what a deletion counts. */
  isCounted: 'bool',
});
/** A plain table or a single partition. */
export type GatheredTable = RowOf<typeof GATHERED_TABLE>;

/**
 * The tables with an index that begins with the customer and the list or campaign. People first: while there are any,
 * something may still be written about them. What foreign keys reach is gone with the list or campaign itself.
 */
export async function gatheredTables(db: Queryable, kind: Deletion['kind']): Promise<readonly GatheredTable[]> {
  const { owners, counted } = TARGETS[kind];
  return db.query(
    GATHERED_TABLE,
    sql`
    SELECT DISTINCT ON (is_counted, 1) format('%I.%I', n.nspname, c.relname) AS table, quote_ident(a.attname) AS key,
           format_type(a.atttypid, a.atttypmod) AS type, is_counted AS "isCounted",
           CASE WHEN t.kind IS NULL THEN t.owner ELSE format('%I = %s AND %I', t.kind, ${SOURCE_KINDS.campaign}::text, t.owner) END AS owned
      FROM pg_index i
      JOIN pg_class c ON c.oid = i.indrelid AND c.relkind = 'r'
      JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname IN ('public', 'hot')
      JOIN pg_attribute tenant ON tenant.attrelid = c.oid AND tenant.attnum = i.indkey[0] AND tenant.attname = 'customer_id'
     CROSS JOIN ${owners} AS t (owner, kind)
      JOIN pg_attribute first ON first.attrelid = c.oid AND first.attnum = i.indkey[1] AND first.attname = coalesce(t.kind, t.owner)
      JOIN pg_attribute second ON second.attrelid = c.oid AND second.attnum = i.indkey[2] AND (t.kind IS NULL OR second.attname = t.owner)
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[CASE WHEN t.kind IS NULL THEN 2 ELSE 3 END]
      LEFT JOIN pg_inherits h ON h.inhrelid = c.oid,
           LATERAL (SELECT coalesce(h.inhparent, c.oid) = ${counted}::regclass AS is_counted) k
     WHERE i.indpred IS NULL AND NOT EXISTS (
       SELECT 1 FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f')
       -- The ledgers of a deleted list stay with its reports (decision D57): its people must be found to be erased.
       AND NOT (${kind} = 'list' AND c.oid = 'hot.former_address'::regclass)
     ORDER BY is_counted DESC, 1, i.indisprimary DESC`,
  );
}

/** Those of the tables that have something of the deletion, asked all at once: of most partitions there is nothing. */
export function filledTables(
  database: Database,
  { customerId, targetId }: Deletion,
  tables: readonly GatheredTable[],
): Promise<GatheredTable[]> {
  const questions = tables.map(
    ({ table, owned }, no) => sql`
      SELECT ${no}::int AS no WHERE EXISTS (
        SELECT 1 FROM ${raw(table)} WHERE customer_id = ${customerId} AND ${raw(owned)} = ${targetId})`,
  );
  return database.transaction(async (tx) => {
    await tx.execute(BY_INDEX);
    const found = await tx.query({ no: 'int' }, join(questions, ' UNION ALL '));
    const filled = new Set(found.map(({ no }) => no));
    return tables.filter((_, no) => filled.has(no));
  });
}

/**
 * Deletes at most `max` rows of a list or campaign in the order of the index, from the key `from` on, so that what is erased
 * already is not walked past again. Answers how many they were, and the key to go on with.
 */
export async function eraseRowsOfTarget(
  tx: Queryable,
  { customerId, targetId }: Deletion,
  { table: { table, owned, key, type }, from, max }: { table: GatheredTable; from: string | null; max: number },
): Promise<{ readonly rows: number; readonly last: string | null }> {
  const behind = from === null ? sql`true` : sql`${raw(key)} >= ${from}::text::${raw(type)}`;
  await tx.execute(BY_INDEX);
  const [slice] = await tx.query(
    { rows: 'int', last: 'text?' },
    sql`
    WITH slice AS MATERIALIZED (
      SELECT ctid, ${raw(key)} AS key FROM ${raw(table)}
       WHERE customer_id = ${customerId} AND ${raw(owned)} = ${targetId} AND ${behind}
       ORDER BY ${raw(key)} LIMIT ${max}::int
    ), gone AS (DELETE FROM ${raw(table)} WHERE ctid = ANY (ARRAY(SELECT ctid FROM slice)))
    SELECT count(*)::int AS rows, (SELECT key::text FROM slice ORDER BY key DESC LIMIT 1) AS last FROM slice`,
  );
  return slice ?? { rows: 0, last: null };
}
