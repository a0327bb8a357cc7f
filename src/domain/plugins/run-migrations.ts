/**
 * The migrations of a plugin: pending ones are run when it is activated, all are taken back when it is deleted with its data. Each runs
 * in the transaction of the change, and the database is compared before and after it.
 */
import { createHash } from 'node:crypto';
import type { Queryable } from '../../db/database.ts';
import { messageOf } from '../../lib/errors.ts';
import type { TransactionContext } from '../context.ts';
import type { PluginKey, PluginMigrationFile } from '../plugin-host.ts';
import { readCatalog, writtenRows } from './catalog-read-model.ts';
import { checkChanges, type DatabaseState } from './check-changes.ts';
import {
  appliedMigrations,
  dropObjects,
  deleteMigrationRows,
  knownVendors,
  ownedObjects,
  recordMigration,
  runScript,
  type AppliedMigration,
} from './plugin-migration-store.ts';
import { fullName, tablePrefix } from './plugin.ts';

/** Runs those that were not applied yet. Throws an Error with a sentence. */
export async function runPendingMigrations(
  { db }: TransactionContext,
  plugin: PluginKey,
  files: readonly PluginMigrationFile[],
): Promise<void> {
  const recorded = await appliedMigrations(db, plugin);
  const applied = (await areGone(db, recorded)) ? [] : recorded;
  if (applied !== recorded) await deleteMigrationRows(db, plugin);
  const pending = pendingOf(files, applied);
  if (pending.length === 0) return;
  let owned = applied.at(-1)?.objects ?? [];
  for (const file of pending) {
    owned = await runChecked({ db }, plugin, {
      what: `The migration ${file.name}`,
      owned,
      script: () => runScript(db, file.upSql),
    });
    const { no, name, upSql, downSql } = file;
    await recordMigration(db, {
      ...plugin,
      no,
      file: name,
      checksum: checksumOf(file),
      upSql,
      downSql,
      objects: owned,
    });
  }
}

/** Runs those again that are recorded, in a database that has none of their tables: a backup was loaded into it. Throws an Error with a sentence. */
export async function repeatMigrations(db: Queryable, plugin: PluginKey): Promise<void> {
  let owned: readonly string[] = [];
  for (const { name, upSql } of await appliedMigrations(db, plugin)) {
    const what = `The migration ${name}`;
    owned = await runChecked({ db }, plugin, { what, owned, script: () => runScript(db, upSql) });
  }
}

/** Takes all of them back, the last one first, and drops what is left of them. Throws an Error with a sentence. */
export async function takeBackMigrations({ db }: TransactionContext, plugin: PluginKey): Promise<void> {
  const applied = await appliedMigrations(db, plugin);
  if (await areGone(db, applied)) return deleteMigrationRows(db, plugin);
  let owned = applied.at(-1)?.objects ?? [];
  for (const { name, downSql } of applied.toReversed()) {
    if (downSql === null) continue;
    const script = () => runScript(db, downSql);
    owned = await runChecked({ db }, plugin, { what: `The rollback of ${name}`, owned, script });
  }
  const script = () => dropObjects(db, owned);
  await runChecked({ db }, plugin, { what: 'Dropping what is left', owned, script });
  await deleteMigrationRows(db, plugin);
}

/** Refuses a vendor whose prefix is that of tables of the product or of another vendor. Throws an Error with a sentence. */
export async function refusePrefixClash({ db }: TransactionContext, { vendor }: PluginKey): Promise<void> {
  const prefix = tablePrefix(vendor);
  const other = (await knownVendors(db)).find((each) => each !== vendor && overlap(tablePrefix(each), prefix));
  if (other !== undefined)
    throw new Error(`The prefix "${prefix}" of its tables cannot be told from that of the vendor "${other}".`);
  const ofPlugins = new Set((await ownedObjects(db)).flatMap(({ objects }) => objects));
  const taken = (await readCatalog(db)).find(
    ({ kind, identity, name, ownerKey }) =>
      name?.startsWith(prefix) && ownerKey === null && !ofPlugins.has(`${kind} ${identity}`),
  );
  if (taken)
    throw new Error(
      `The prefix "${prefix}" of its tables is taken: the ${taken.kind} ${taken.identity} is not a plugin's.`,
    );
}

/** Whether nothing is there of what the migrations made: a restored backup may have the record without the tables. */
async function areGone(db: Queryable, applied: readonly AppliedMigration[]): Promise<boolean> {
  const owned = new Set(applied.at(-1)?.objects);
  if (owned.size === 0) return false;
  return !(await readCatalog(db)).some((entry) => owned.has(`${entry.kind} ${entry.identity}`));
}

interface CheckedScript {
  /** The subject of the sentence when it fails. */
  readonly what: string;
  readonly owned: readonly string[];
  readonly script: () => Promise<void>;
}

/** Answers what belongs to the plugin afterwards. */
async function runChecked(
  { db }: Pick<TransactionContext, 'db'>,
  plugin: PluginKey,
  { what, owned, script }: CheckedScript,
): Promise<readonly string[]> {
  const read = async (): Promise<DatabaseState> => ({ catalog: await readCatalog(db), written: await writtenRows(db) });
  const before = await read();
  try {
    await script();
  } catch (error) {
    throw new Error(`${what} failed: ${messageOf(error)}`, { cause: error });
  }
  const { objects, faults } = checkChanges(
    { before, after: await read() },
    { prefix: tablePrefix(plugin.vendor), owned },
  );
  if (faults.length === 0) return objects;
  throw new Error(
    `${what} does what a plugin may not do: it ${faults.join('; it ')}. A plugin may change only what ${fullName(plugin)} itself has made.`,
  );
}

function pendingOf(
  files: readonly PluginMigrationFile[],
  applied: readonly AppliedMigration[],
): readonly PluginMigrationFile[] {
  for (const { no, name, checksum } of applied) {
    const file = files.find((each) => each.no === no);
    if (file && checksumOf(file) !== checksum)
      throw new Error(`The migration ${name} was changed after it was applied. Undo that, and add another migration.`);
  }
  const last = applied.at(-1)?.no ?? -1;
  const late = files.find(({ no }) => no < last && !applied.some((each) => each.no === no));
  if (late) throw new Error(`The migration ${late.name} has a smaller number than one that was applied already.`);
  return files.filter(({ no }) => no > last);
}

function checksumOf({ upSql }: PluginMigrationFile): string {
  return createHash('sha256').update(upSql).digest('hex');
}

function overlap(one: string, other: string): boolean {
  return one.startsWith(other) || other.startsWith(one);
}
