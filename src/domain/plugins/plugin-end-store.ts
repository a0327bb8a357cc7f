/** Writes of plugins that have ended processes. */
import { sql, type Queryable } from '../../db/database.ts';
import type { PluginKey } from '../plugin-host.ts';
import type { Plugin } from './plugin.ts';

/**
 * Adds a time at which the plugin has ended a process, once if it is told twice, and answers how many there are since. A plugin that ends it while its code is loaded
 * for the first time has no row yet.
 */
export async function addEnd(
  db: Queryable,
  { vendor, name }: PluginKey,
  { at, since }: { readonly at: Date; readonly since: Date },
): Promise<number> {
  const [row] = await db.query(
    { count: 'int' },
    sql`INSERT INTO plugin AS p (vendor, name, version, title, is_bundled, ends, updated_at)
        VALUES (${vendor}, ${name}, '', ${`${vendor}/${name}`}, false, ARRAY[${at}::timestamptz], now())
        ON CONFLICT (vendor, name) DO UPDATE
           SET ends = ARRAY(SELECT DISTINCT e FROM unnest(p.ends || excluded.ends) e WHERE e > ${since}::timestamptz ORDER BY e)
        RETURNING cardinality(ends) AS count`,
  );
  return row?.count ?? 0;
}

/** It is inactive, and its code is not loaded any more. */
export async function markSwitchedOff(db: Queryable, { id }: Plugin, reason: string): Promise<void> {
  await db.execute(sql`
    UPDATE plugin SET status = 'inactive', error = ${reason}, ends = '{}', switched_off_at = now(), updated_at = now()
     WHERE id = ${id}`);
}

/** The active plugin that was activated last, of other vendors than this one. */
export async function findLastActivated(db: Queryable, ownVendor: string): Promise<PluginKey | undefined> {
  const [row] = await db.query(
    { vendor: 'text', name: 'text' },
    sql`SELECT vendor, name FROM plugin WHERE status = 'active' AND vendor <> ${ownVendor}
         ORDER BY activated_at DESC NULLS LAST LIMIT 1`,
  );
  return row;
}
