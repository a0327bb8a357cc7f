/**
 * Upgrading the program from within (specification 4.11, D40): a newer version is staged beside the running one, its migrations are applied,
 * and the processes of this machine are asked to start it. A failure at any step leaves the running version as it was. Each step needs a
 * login of the last minutes (ForbiddenError `LOGIN_TOO_OLD`).
 */
import { z } from 'zod';
import { notify } from '../../db/listen.ts';
import { migrateAhead, readMigrations, UPGRADE_STEPS } from '../../db/migrate.ts';
import { sha256Input, signatureInput } from '../../lib/archive-proof.ts';
import { messageOf, ValidationError, WrongStateError } from '../../lib/errors.ts';
import { URL_LENGTH_MAX } from '../../lib/outbound-request.ts';
import { parseInput } from '../../lib/text.ts';
import { requireRecentLogin } from '../accounts/require-recent-login.ts';
import { endChecks, type Context } from '../context.ts';
import type { ReleaseHost, UpgradeStatus } from '../release-host.ts';
import { appliedMigrationNames } from './upgrade-read-model.ts';
import { writeSetting } from './setting-store.ts';

export interface Upgrade extends UpgradeStatus {
  /** Of the version that runs. */
  readonly runningVersion: string;
  /** Migrations of the staged version that are not applied yet. */
  readonly pendingMigrations: readonly string[];
}

export const upgradeInput = z.object({
  url: z.string().trim().min(1, 'is required').max(URL_LENGTH_MAX),
  sha256: sha256Input,
  signature: signatureInput,
});

/** The name of a folder. */
export const upgradeStepInput = z.object({ migration: z.string().max(255) });

/** Notified when the processes of a machine are to start the version that is in use now. */
export const RELEASE_CHANNEL = 'release_changed';

const cannotUpgrade = (reason: string) => new WrongStateError('UPGRADE_NOT_POSSIBLE', reason);
const upgradeFailed = (field: string, reason: string) =>
  new ValidationError({ [field]: [reason] }, 'UPGRADE_FAILED', 'The upgrade failed; the running version is as it was.');
const noneStaged = () =>
  new WrongStateError(
    'UPGRADE_NOT_STAGED',
    'No newer version is staged: begin with run, and wait until its state is staged.',
  );

/** How far an upgrade is, on the machine that answers. */
export async function readUpgrade(ctx: Context): Promise<Upgrade> {
  const host = hostOf(ctx);
  return { ...host.status(), runningVersion: host.version, pendingMigrations: await pending(ctx) };
}

/** Begins to stage a version, and answers at once. Throws ValidationError; WrongStateError `UPGRADE_NOT_POSSIBLE`, `UPGRADE_RUNS`. */
export async function runUpgrade(ctx: Context, given: z.input<typeof upgradeInput>): Promise<Upgrade> {
  const source = parseInput(upgradeInput, given);
  await requireRecentLogin(ctx);
  const host = hostOf(ctx);
  const keys = ctx.installation.trust?.releaseKeys ?? [];
  if (host.refusal !== null) throw cannotUpgrade(host.refusal);
  if (keys.length === 0)
    throw cannotUpgrade(
      'No release key is known: set RELEASE_KEYS to the public key of who makes releases, or upgrade by hand.',
    );
  endChecks(ctx);
  if (!host.stage({ ...source, keys, allowedHosts: ctx.installation.outboundAllowHosts ?? [] }))
    throw new WrongStateError('UPGRADE_RUNS', 'A version is being staged. Wait for it, or cancel it.');
  return readUpgrade(ctx);
}

/** Applies one migration, which must be the next. Throws ValidationError `UPGRADE_FAILED`; WrongStateError `UPGRADE_NOT_STAGED`. */
export async function runUpgradeStep(ctx: Context, { migration }: { readonly migration: string }): Promise<Upgrade> {
  parseInput(upgradeStepInput, { migration });
  await requireRecentLogin(ctx);
  endChecks(ctx);
  await migrateStaged(ctx, migration);
  return readUpgrade(ctx);
}

/**
 * Applies what is left, in one transaction, and has this machine's processes start the new version. Throws ValidationError `UPGRADE_FAILED`;
 * WrongStateError `UPGRADE_NOT_STAGED`.
 */
export async function finalizeUpgrade(ctx: Context): Promise<Upgrade> {
  await requireRecentLogin(ctx);
  endChecks(ctx);
  await migrateStaged(ctx);
  try {
    hostOf(ctx).use();
  } catch (error) {
    // Such as a full disk. It can be tried again.
    throw upgradeFailed('release', messageOf(error));
  }
  ctx.log.info('upgrade.finalized', { version: hostOf(ctx).status().version });
  const upgrade = await readUpgrade(ctx);
  await notify(ctx.database, RELEASE_CHANNEL, '');
  return upgrade;
}

/** Ends what is under way, or removes what is staged. Throws WrongStateError `NO_UPGRADE`. */
export async function cancelUpgrade(ctx: Context): Promise<Upgrade> {
  endChecks(ctx);
  if (!(await hostOf(ctx).cancel())) throw new WrongStateError('NO_UPGRADE', 'No upgrade is under way or staged.');
  return readUpgrade(ctx);
}

async function migrateStaged(ctx: Context, only?: string): Promise<void> {
  const folder = hostOf(ctx).migrationsFolder();
  if (folder === undefined) throw noneStaged();
  const migrations = await readMigrations(folder);
  const known = new Set(migrations.map(({ name }) => name));
  const foreign = (await appliedMigrationNames(ctx.database)).find((name) => !known.has(name));
  if (foreign !== undefined) throw upgradeFailed('migration', unknownMigration(foreign, hostOf(ctx).status().version));
  // From now on the running version may start again with them, until the new one has started.
  await writeSetting(
    ctx.database,
    UPGRADE_STEPS,
    migrations.map(({ name }) => name),
  );
  try {
    const { url } = ctx.database;
    await migrateAhead({ url, migrations, log: ctx.log, ...(only === undefined ? {} : { only }) });
  } catch (error) {
    throw upgradeFailed('migration', messageOf(error));
  }
}

/** A step of another version: with this one the running version could not start again. */
function unknownMigration(name: string, version: string | null): string {
  return `The database has the migration ${name}, which version ${version ?? ''} does not know: it came with another newer version. Cancel, and stage a version that has it.`;
}

async function pending(ctx: Context): Promise<readonly string[]> {
  const folder = hostOf(ctx).migrationsFolder();
  if (folder === undefined) return [];
  const applied = new Set(await appliedMigrationNames(ctx.database));
  return (await readMigrations(folder)).map(({ name }) => name).filter((name) => !applied.has(name));
}

function hostOf({ releases }: Context): ReleaseHost {
  if (!releases) throw cannotUpgrade('This process cannot upgrade the program: ask one that serves the API.');
  return releases;
}
