/** Writes of plugins, and the reads that the verbs need. */
import { raw, sql, type Queryable } from '../../db/database.ts';
import type { PluginRights } from '../../plugin-api/index.ts';
import type { FoundPlugin, PluginKey } from '../plugin-host.ts';
import { PLUGIN_ROW, type Plugin } from './plugin.ts';

const ofPackage = (place: 'waiting' | 'former') =>
  `(SELECT k.version FROM plugin_package k WHERE k.vendor = plugin.vendor AND k.name = plugin.name AND k.place = '${place}') AS "${place}Version"`;
const COLUMNS = raw(
  `id, vendor, name, version, title, description, status, is_bundled AS "isBundled", error, switched_off_at AS "switchedOffAt",
   ${ofPackage('waiting')}, ${ofPackage('former')}, '{"browserHosts": []}'::jsonb || granted AS granted, granted_at AS "grantedAt", folder,
   activated_at AS "activatedAt", first_activated_at AS "firstActivatedAt", created_at AS "createdAt", updated_at AS "updatedAt"`,
);

/** All plugins by name, also those that are being deleted. */
export function allPlugins(db: Queryable): Promise<Plugin[]> {
  return db.query(PLUGIN_ROW, sql`SELECT ${COLUMNS} FROM plugin ORDER BY vendor, name`, 'plugins.all');
}

export async function findPluginRow(
  db: Queryable,
  { vendor, name }: PluginKey,
  lock = false,
): Promise<Plugin | undefined> {
  const [row] = await db.query(
    PLUGIN_ROW,
    sql`SELECT ${COLUMNS} FROM plugin WHERE vendor = ${vendor} AND name = ${name} AND status <> 'deleting' ${lock ? sql`FOR UPDATE` : sql``}`,
  );
  return row;
}

/**
 * Stores what was found. The row of an active plugin keeps the version that runs. Answers whether it is another than before.
 */
export async function storeFound(db: Queryable, found: FoundPlugin): Promise<boolean> {
  const { vendor, name, version, title, description, isBundled } = found;
  const written = await db.execute(sql`
    INSERT INTO plugin AS p (vendor, name, version, title, description, is_bundled)
    VALUES (${vendor}, ${name}, ${version}, ${title}, ${description}, ${isBundled})
    ON CONFLICT (vendor, name) DO UPDATE
       SET version = excluded.version, title = excluded.title, description = excluded.description,
           is_bundled = excluded.is_bundled, updated_at = now()
     WHERE p.status = 'inactive'
       AND (p.version, p.title, p.description, p.is_bundled)
           IS DISTINCT FROM (excluded.version, excluded.title, excluded.description, excluded.is_bundled)`);
  return written > 0;
}

/** Makes it active, with these rights; the first time is kept for ever. */
export async function markActive(
  db: Queryable,
  { id }: Plugin,
  { version, folder, granted }: { version: string; folder: string | null; granted: PluginRights },
): Promise<void> {
  const rights = JSON.stringify(granted);
  await db.execute(sql`
    UPDATE plugin SET status = 'active', version = ${version}, folder = ${folder}, error = NULL, ends = '{}', switched_off_at = NULL,
           granted_at = CASE WHEN granted = ${rights}::jsonb THEN granted_at ELSE clock_timestamp() END, granted = ${rights}::jsonb,
           updated_at = now(), activated_at = clock_timestamp(), first_activated_at = coalesce(first_activated_at, clock_timestamp())
     WHERE id = ${id}`);
}

/** Keeps why an activation failed. */
export async function writeActivationError(db: Queryable, { vendor, name }: PluginKey, error: string): Promise<void> {
  await db.execute(
    sql`UPDATE plugin SET error = ${error}, updated_at = now() WHERE vendor = ${vendor} AND name = ${name}`,
  );
}

export async function markInactive(db: Queryable, { id }: Plugin): Promise<void> {
  await db.execute(sql`UPDATE plugin SET status = 'inactive', updated_at = now() WHERE id = ${id}`);
}

/** Nobody sees it any more; its folder is removed afterwards. */
export async function markDeleting(db: Queryable, { id }: Plugin): Promise<void> {
  await db.execute(sql`UPDATE plugin SET status = 'deleting', updated_at = now() WHERE id = ${id}`);
}

export async function deleteDeleting(db: Queryable, { vendor, name }: PluginKey): Promise<void> {
  await db.execute(sql`DELETE FROM plugin WHERE vendor = ${vendor} AND name = ${name} AND status = 'deleting'`);
}
