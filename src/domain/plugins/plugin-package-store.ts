/** Reads and writes of packages of plugins and their pieces. */
import { raw, row, sql, type Queryable, type RowOf } from '../../db/database.ts';
import { isUid } from '../../lib/ids.ts';
import type { PluginKey } from '../plugin-host.ts';
import { packageNotFound } from './plugin-errors.ts';
import {
  KEPT_DAYS,
  PIECE_BYTES_MAX,
  PLUGIN_PACKAGE_ROW,
  SILENT_MINUTES_MAX,
  type PluginPackage,
  type PluginPackagePlace,
  type PluginPackageState,
} from './plugin-package.ts';

const COLUMNS = raw(
  `id, uid, url, sha256, signature, state, reason, size_bytes AS "sizeBytes", digest, vendor, name, version, place,
   created_at AS "createdAt", updated_at AS "updatedAt"`,
);

export type NewPackage = Pick<PluginPackage, 'uid' | 'url' | 'sha256' | 'signature' | 'state'>;

export async function insertPackage(db: Queryable, made: NewPackage): Promise<void> {
  const { uid, url, sha256, signature, state } = made;
  await db.execute(sql`
    INSERT INTO plugin_package (uid, url, sha256, signature, state)
    VALUES (${uid}, ${url}, ${sha256}, ${signature}, ${state})`);
}

/** The latest first. */
export function allPackages(db: Queryable): Promise<PluginPackage[]> {
  return db.query(PLUGIN_PACKAGE_ROW, sql`SELECT ${COLUMNS} FROM plugin_package ORDER BY id DESC LIMIT 200`);
}

/** Throws NotFoundError `PLUGIN_PACKAGE_NOT_FOUND`. */
export async function findPackage(db: Queryable, uid: string, lock = false): Promise<PluginPackage> {
  const [found] = isUid(uid)
    ? await db.query(
        PLUGIN_PACKAGE_ROW,
        sql`SELECT ${COLUMNS} FROM plugin_package WHERE uid = ${uid} ${lock ? sql`FOR UPDATE` : sql``}`,
      )
    : [];
  if (!found) throw packageNotFound();
  return found;
}

export async function packageAt(
  db: Queryable,
  { vendor, name }: PluginKey,
  place: PluginPackagePlace,
): Promise<KeptPackage | undefined> {
  const [found] = await db.query(
    KEPT_PACKAGE_ROW,
    sql`SELECT ${KEPT_COLUMNS} FROM plugin_package WHERE vendor = ${vendor} AND name = ${name} AND place = ${place}`,
  );
  return found;
}

const KEPT_PACKAGE_ROW = row({
  id: 'bigint',
  vendor: 'text',
  name: 'text',
  version: 'text',
  digest: 'text',
  isCurrent: 'bool',
});
export type KeptPackage = RowOf<typeof KEPT_PACKAGE_ROW>;
const KEPT_COLUMNS = raw(`id, vendor, name, version, digest, place = 'current' AS "isCurrent"`);

/** All that have a folder. */
export function keptPackages(db: Queryable): Promise<KeptPackage[]> {
  return db.query(
    KEPT_PACKAGE_ROW,
    sql`SELECT ${KEPT_COLUMNS} FROM plugin_package WHERE place IS NOT NULL ORDER BY id`,
    'plugins.kept_packages',
  );
}

/** Changes what is in the state `from`; false: it is not any more, somebody has cancelled it. */
export async function changePackage(
  db: Queryable,
  { id }: Pick<PluginPackage, 'id'>,
  change: { readonly from: PluginPackageState; readonly to: PluginPackageState; readonly sizeBytes?: number },
): Promise<boolean> {
  const { from, to, sizeBytes = null } = change;
  const changed = await db.execute(sql`
    UPDATE plugin_package SET state = ${to}, size_bytes = coalesce(${sizeBytes}::bigint, size_bytes), updated_at = now()
     WHERE id = ${id} AND state = ${from}`);
  return changed === 1;
}

/** It is complete and in order; false: somebody has cancelled it. */
export async function markPackageReady(
  db: Queryable,
  { id }: Pick<PluginPackage, 'id'>,
  { vendor, name, version, digest }: Omit<KeptPackage, 'id' | 'isCurrent'>,
): Promise<boolean> {
  const changed = await db.execute(sql`
    UPDATE plugin_package SET state = 'ready', vendor = ${vendor}, name = ${name}, version = ${version}, digest = ${digest}, updated_at = now()
     WHERE id = ${id} AND state = 'checking'`);
  return changed === 1;
}

/** Ends what is under way without a result, and drops what has come of it; false: it had ended. */
export async function endPackage(
  db: Queryable,
  { id }: Pick<PluginPackage, 'id'>,
  { state, reason }: { readonly state: 'failed' | 'cancelled'; readonly reason: string | null },
): Promise<boolean> {
  const changed = await db.execute(sql`
    UPDATE plugin_package SET state = ${state}, reason = ${reason}, updated_at = now()
     WHERE id = ${id} AND state IN ('uploading', 'downloading', 'checking')`);
  if (changed > 0) await db.execute(sql`DELETE FROM plugin_package_piece WHERE package_id = ${id}`);
  return changed > 0;
}

/** Gives it its place; what had the place before has the place `displaced`, or none, and then no archive any more. */
export async function placePackage(
  db: Queryable,
  { id, vendor, name }: Pick<KeptPackage, 'id' | 'vendor' | 'name'>,
  { place, displaced }: { readonly place: PluginPackagePlace; readonly displaced?: PluginPackagePlace },
): Promise<void> {
  const before = await packageAt(db, { vendor, name }, place);
  const last = displaced && (await packageAt(db, { vendor, name }, displaced));
  const moves = [
    ...[id, before?.id, last?.id].map((each) => [each, null] as const),
    ...(displaced ? [[before?.id, displaced] as const] : []),
    [id, place] as const,
  ];
  for (const [each, to] of moves)
    if (each !== undefined)
      await db.execute(sql`UPDATE plugin_package SET place = ${to}, updated_at = now() WHERE id = ${each}`);
  await db.execute(sql`
    DELETE FROM plugin_package_piece p USING plugin_package k
     WHERE k.id = p.package_id AND k.vendor = ${vendor} AND k.name = ${name} AND k.place IS NULL AND k.state = 'ready'`);
}

/** The plugin is deleted: its packages go with it. */
export async function deletePackagesOf(db: Queryable, { vendor, name }: PluginKey): Promise<void> {
  await db.execute(sql`DELETE FROM plugin_package WHERE vendor = ${vendor} AND name = ${name}`);
}

export async function insertPackagePiece(
  db: Queryable,
  { id }: Pick<PluginPackage, 'id'>,
  { no, bytes }: { readonly no: number; readonly bytes: Uint8Array },
): Promise<void> {
  await db.execute(sql`
    INSERT INTO plugin_package_piece (package_id, no, bytes) VALUES (${id}, ${no}, ${bytes}) ON CONFLICT DO NOTHING`);
}

/** Stores a whole archive. */
export async function insertArchive(db: Queryable, made: Pick<PluginPackage, 'id'>, archive: Buffer): Promise<void> {
  for (let no = 0; no * PIECE_BYTES_MAX < archive.length; no++) {
    const bytes = archive.subarray(no * PIECE_BYTES_MAX, (no + 1) * PIECE_BYTES_MAX);
    await insertPackagePiece(db, made, { no, bytes });
  }
}

/** How many bytes have arrived, in how many pieces, and the number of the last one. */
export async function packageSize(db: Queryable, { id }: Pick<PluginPackage, 'id'>) {
  const [size] = await db.query(
    { bytes: 'float8', pieces: 'int', last: 'int' },
    sql`SELECT coalesce(sum(octet_length(bytes)), 0)::float8 AS bytes, count(*)::int AS pieces, coalesce(max(no), -1) AS last
          FROM plugin_package_piece WHERE package_id = ${id}`,
  );
  return size ?? { bytes: 0, pieces: 0, last: -1 };
}

/** The whole archive, piece by piece. */
export async function readPackageArchive(db: Queryable, { id }: Pick<PluginPackage, 'id'>): Promise<Buffer> {
  const { pieces } = await packageSize(db, { id });
  const read: Buffer[] = [];
  for (let no = 0; no < pieces; no++) {
    const piece = await db.readBytes(
      sql`SELECT bytes FROM plugin_package_piece WHERE package_id = ${id} AND no = ${no}`,
    );
    if (piece) read.push(piece);
  }
  return Buffer.concat(read);
}

/** How many are in these states. */
export async function countPackages(db: Queryable, states: readonly PluginPackageState[]): Promise<number> {
  const [row] = await db.query(
    { n: 'int' },
    sql`SELECT count(*)::int AS n FROM plugin_package WHERE state = ANY (${[...states]}::text[])`,
  );
  return row?.n ?? 0;
}

/** Ends what has given no sign of life for long, and forgets what is not used any more. */
export async function sweepPackages(db: Queryable): Promise<void> {
  await db.execute(sql`
    WITH given_up AS (
      UPDATE plugin_package SET state = 'failed', reason = 'It was interrupted: begin again.', updated_at = now()
       WHERE state IN ('uploading', 'downloading', 'checking') AND updated_at < now() - make_interval(mins => ${SILENT_MINUTES_MAX}::int)
      RETURNING id)
    DELETE FROM plugin_package_piece WHERE package_id IN (SELECT id FROM given_up)`);
  await db.execute(sql`
    DELETE FROM plugin_package WHERE place IS NULL AND state IN ('ready', 'failed', 'cancelled') AND updated_at < now() - make_interval(days => ${KEPT_DAYS}::int)`);
}
