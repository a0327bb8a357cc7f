/**
 * The database's catalog: what there is apart from rows, with a digest of each definition. Read before and after a plugin's script it
 * shows what the script made, changed and dropped.
 */
import { join, raw, row, sql, type Queryable, type RowOf } from '../../db/database.ts';

const ENTRY_ROW = row({
  /** The same before and after a change. */
  key: 'text',
  /** `table`, `index`, `function`, as PostgreSQL calls it. */
  kind: 'text',
  /** With schema and quotes, for SQL and messages. */
  identity: 'text',
  schema: 'text?',
  name: 'text?',
  /** The table that an index, constraint, trigger, rule or policy is part of. */
  ownerKey: 'text?',
  digest: 'text',
});
export type CatalogEntry = RowOf<typeof ENTRY_ROW>;

/** Catalogs whose rows are compared as they are; a plugin makes nothing in them. */
const PLAIN_CATALOGS = [
  ...['pg_namespace', 'pg_extension', 'pg_event_trigger', 'pg_publication', 'pg_default_acl', 'pg_language'],
  ...[
    'pg_foreign_data_wrapper',
    'pg_foreign_server',
    'pg_largeobject_metadata',
    'pg_cast',
    'pg_operator',
    'pg_opclass',
  ],
  ...['pg_conversion', 'pg_collation', 'pg_ts_config', 'pg_ts_dict'],
].map((catalog) =>
  // Those above this number were not made by PostgreSQL itself; the schema `public` was.
  raw(`SELECT x.tableoid, x.oid, NULL, NULL, NULL, md5(x::text) FROM ${catalog} x
        WHERE x.oid >= 16384 OR x.tableoid = 'pg_namespace'::regclass`),
);

/** Everything but what PostgreSQL itself brings; also settings of the session, which would outlive the transaction. */
export function readCatalog(db: Queryable): Promise<CatalogEntry[]> {
  return db.query(
    ENTRY_ROW,
    sql`
    WITH own_schema AS (
      SELECT oid, nspname FROM pg_namespace
       WHERE nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND nspname NOT LIKE 'pg\\_toast\\_temp%'
    ), entry(class, id, schema, name, owner, digest) AS (
      SELECT 'pg_class'::regclass::oid, c.oid, s.nspname, c.relname, i.indrelid,
             md5(ROW(c.relname, c.relnamespace, c.relowner, c.relam, c.relfilenode, c.reltablespace, c.relpersistence, c.relkind,
                     c.relrowsecurity, c.relforcerowsecurity, c.relreplident, c.relispartition, c.relacl, c.reloptions,
                     pg_get_expr(c.relpartbound, c.oid))::text
                 || coalesce((SELECT string_agg(ROW(a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attidentity,
                                                    a.attgenerated, a.attisdropped, a.attcollation, a.attacl, a.attoptions,
                                                    d.adbin)::text, ',' ORDER BY a.attnum)
                                FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
                               WHERE a.attrelid = c.oid AND a.attnum > 0), '')
                 || coalesce((SELECT string_agg(h.inhparent::text, ',' ORDER BY h.inhseqno) FROM pg_inherits h WHERE h.inhrelid = c.oid), ''))
        FROM pg_class c JOIN own_schema s ON s.oid = c.relnamespace LEFT JOIN pg_index i ON i.indexrelid = c.oid
       WHERE c.relkind <> 't'
      UNION ALL
      SELECT 'pg_constraint'::regclass, k.oid, NULL, NULL, k.conrelid, md5(k::text)
        FROM pg_constraint k JOIN own_schema s ON s.oid = k.connamespace WHERE k.conrelid <> 0
      UNION ALL
      SELECT 'pg_trigger'::regclass, t.oid, NULL, NULL, t.tgrelid, md5(t::text) FROM pg_trigger t
      UNION ALL
      SELECT 'pg_rewrite'::regclass, r.oid, NULL, NULL, r.ev_class, md5(r::text)
        FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class JOIN own_schema s ON s.oid = c.relnamespace
      UNION ALL
      SELECT 'pg_policy'::regclass, p.oid, NULL, NULL, p.polrelid, md5(p::text) FROM pg_policy p
      UNION ALL
      SELECT 'pg_statistic_ext'::regclass, x.oid, NULL, NULL, x.stxrelid, md5(x::text) FROM pg_statistic_ext x
      UNION ALL
      SELECT 'pg_proc'::regclass, p.oid, s.nspname, p.proname, NULL, md5(p::text)
        FROM pg_proc p JOIN own_schema s ON s.oid = p.pronamespace
      UNION ALL
      -- Not the types of rows and arrays, which belong to a table or another type.
      SELECT 'pg_type'::regclass, t.oid, s.nspname, t.typname, NULL,
             md5(t::text || coalesce((SELECT string_agg(e::text, ',' ORDER BY e.oid) FROM pg_enum e WHERE e.enumtypid = t.oid), '')
                 || coalesce((SELECT string_agg(k::text, ',' ORDER BY k.oid) FROM pg_constraint k WHERE k.contypid = t.oid), ''))
        FROM pg_type t JOIN own_schema s ON s.oid = t.typnamespace
       WHERE t.typrelid = 0 AND t.typcategory <> 'A'
      UNION ALL
      ${join(PLAIN_CATALOGS, ' UNION ALL ')}
      UNION ALL
      SELECT 'pg_authid'::regclass, r.oid, NULL, NULL, NULL, md5(r::text) FROM pg_roles r
    )
    SELECT e.class || ':' || e.id AS key, coalesce(o.type, 'object') AS kind, coalesce(o.identity, e.name::text, e.id::text) AS identity,
           e.schema::text AS schema, e.name::text AS name, 'pg_class'::regclass::oid || ':' || nullif(e.owner, 0) AS "ownerKey", e.digest
      FROM entry e LEFT JOIN LATERAL pg_identify_object(e.class, e.id, 0) o ON true
    UNION ALL
    SELECT 'setting:' || name, 'setting', name, NULL, NULL, NULL, setting FROM pg_settings
     WHERE source = 'session' AND name <> 'search_path' AND name NOT LIKE 'transaction%'
    UNION ALL
    SELECT 'role', 'role of the session', current_user, NULL, NULL, NULL, current_user
    ORDER BY 1`,
  );
}

/** How many rows of each table this transaction has inserted, changed or deleted so far. */
export function writtenRows(db: Queryable) {
  return db.query(
    { key: 'text', identity: 'text', writes: 'bigint' },
    sql`
    SELECT 'pg_class'::regclass::oid || ':' || relid AS key, format('%I.%I', schemaname, relname) AS identity,
           n_tup_ins + n_tup_upd + n_tup_del AS writes
      FROM pg_stat_xact_all_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n_tup_ins + n_tup_upd + n_tup_del > 0`,
  );
}
