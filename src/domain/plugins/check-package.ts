/**
 * Checking an archive that has come, and making it a version of its plugin. Nothing of it is written before all of it was checked, and its
 * row says `ready` only when its folder is complete.
 */
import { createHash } from 'node:crypto';
import type { Transaction } from '../../db/database.ts';
import { lockUntilCommit } from '../../db/lock.ts';
import { ExpectedError, messageOf } from '../../lib/errors.ts';
import { isSignedBy } from '../../lib/signature.ts';
import { auditInTransaction } from '../accounts/audit-trail.ts';
import { inTransaction, viewerOf, type Context, type TransactionContext } from '../context.ts';
import { notify } from '../../db/listen.ts';
import type { PluginVersionKey } from '../plugin-host.ts';
import { discoverPlugins } from './discover-plugins.ts';
import { hostOf } from './find-plugin.ts';
import { installationRuns, packageCancelled, packageRefused } from './plugin-errors.ts';
import {
  changePackage,
  countPackages,
  endPackage,
  findPackage,
  insertArchive,
  markPackageReady,
  packageAt,
  placePackage,
} from './plugin-package-store.ts';
import type { PluginPackage } from './plugin-package.ts';
import { findPluginRow } from './plugin-store.ts';
import { fullName, PLUGINS_CHANNEL } from './plugin.ts';

/** Reasons that are kept. */
const REASON_LENGTH_MAX = 1_000;

/** Runs `work` on a package that is under way; a failure is kept as its reason, and thrown as a ValidationError on `field`. */
export async function underWay(
  ctx: Context,
  { made, field }: { readonly made: PluginPackage; readonly field: string },
  work: () => Promise<void>,
): Promise<PluginPackage> {
  try {
    await work();
  } catch (error) {
    const reason = reasonOf(error).slice(0, REASON_LENGTH_MAX);
    const hasFailed = await endPackage(ctx.database, made, { state: 'failed', reason });
    if (!hasFailed) throw packageCancelled();
    ctx.log.warn('plugin.not_installed', { package: made.uid, message: reason });
    throw packageRefused(field, reason);
  }
  // Its code is loaded now, and its row is there.
  await discoverPlugins(ctx);
  return findPackage(ctx.database, made.uid);
}

/** Checks the archive of a package in the state `checking`, and gives it its place. Throws an Error with a sentence. */
export async function acceptArchive(ctx: Context, made: PluginPackage, archive: Buffer): Promise<void> {
  const { packages } = hostOf(ctx);
  const digest = createHash('sha256').update(archive).digest('hex');
  checkProof(ctx, made, { archive, digest });
  const { vendor, name, version } = await packages.read(archive);
  const key = { vendor, name, version, digest };
  await refuseTaken(ctx, key);
  await packages.unpack(key, archive);
  await inTransaction(ctx, async (inner) => {
    if (!(await markPackageReady(inner.db, made, key))) throw packageCancelled();
    await keepVersion(inner, { made, key, archive });
    await notify(inner.db, PLUGINS_CHANNEL, '');
    await auditInTransaction(inner, { customerId: viewerOf(inner).customerId, targetUid: fullName(key) });
  });
}

/** All of it is there. Throws WrongStateError `PLUGIN_PACKAGE_CANCELLED`; of an upload also `PLUGIN_INSTALLATION_RUNS`. */
export async function beginChecking(
  ctx: Context,
  made: PluginPackage,
  { from, sizeBytes }: { readonly from: 'uploading' | 'downloading'; readonly sizeBytes: number },
): Promise<void> {
  await ctx.database.transaction(async (tx) => {
    await lockInstallations(tx);
    // One is held in memory; a download has its place already.
    if (from === 'uploading') await refuseSecond(tx);
    if (!(await changePackage(tx, made, { from, to: 'checking', sizeBytes }))) throw packageCancelled();
  });
}

/** Until the transaction ends nobody else begins an installation. */
export function lockInstallations(tx: Transaction): Promise<void> {
  return lockUntilCommit(tx, 'mailwright:plugin-installations');
}

/** Throws WrongStateError `PLUGIN_INSTALLATION_RUNS` while one is held in memory. */
export async function refuseSecond(tx: Transaction): Promise<void> {
  if ((await countPackages(tx, ['downloading', 'checking'])) > 0) throw installationRuns();
}

function checkProof(
  { installation: { trust } }: Context,
  { sha256, signature }: PluginPackage,
  { archive, digest }: { readonly archive: Buffer; readonly digest: string },
): void {
  if (sha256 !== null && sha256 !== digest)
    throw new Error(`Its SHA-256 checksum is ${digest}, and not the one that was given. Do not use this file.`);
  const keys = trust?.pluginKeys ?? [];
  if (keys.length > 0 && (signature === null || !isSignedBy(keys, archive, signature)))
    throw new Error('No key of PLUGIN_KEYS has signed it. Do not use this file.');
}

async function refuseTaken(ctx: Context, key: PluginVersionKey): Promise<void> {
  if (hostOf(ctx).found(key)?.isBundled === true)
    throw new Error(`${fullName(key)} is part of the product and cannot be installed.`);
  if (await hostOf(ctx).packages.isOwnFolder(key))
    throw new Error(
      `A folder of ${fullName(key)} stands in DATA_DIR/plugins that was not installed this way. Remove it, then install again: tables and settings stay.`,
    );
}

interface NewVersion {
  readonly made: PluginPackage;
  readonly key: PluginVersionKey;
  readonly archive: Buffer;
}

/** An active plugin goes on with its version; the new one waits for an activation. */
async function keepVersion({ db }: TransactionContext, { made, key, archive }: NewVersion): Promise<void> {
  const plugin = await findPluginRow(db, key, true);
  // The same again would only push the former version out.
  if ((await packageAt(db, key, 'current'))?.digest === key.digest) return;
  await insertArchive(db, made, archive);
  const placed = { id: made.id, ...key };
  if (plugin?.status === 'active') await placePackage(db, placed, { place: 'waiting' });
  else await placePackage(db, placed, { place: 'current', displaced: 'former' });
}

function reasonOf(error: unknown): string {
  if (error instanceof ExpectedError) return error.message;
  const code = error instanceof Error && 'code' in error ? error.code : '';
  if (code === 'ENOSPC') return 'The disk is full. Make room, then install again.';
  return messageOf(error);
}
