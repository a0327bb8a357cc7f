/**
 * A plugin's tables belong to a database login of its own, which can use nothing else. It is made and kept right by each activation, and
 * dropped with the data. Where the user of DATABASE_URL may not make roles there is no login, and the plugin cannot use its tables.
 */
import { lockUntilCommit } from '../../db/lock.ts';
import type { Context, TransactionContext } from '../context.ts';
import { messageOf } from '../../lib/errors.ts';
import type { PluginKey } from '../plugin-host.ts';
import { pluginLogin, scramVerifier } from './plugin-login.ts';
import { ownedObjects } from './plugin-migration-store.ts';
import { belongTo, dropRole, ensureRole, giveObjects, roleRights } from './plugin-role-store.ts';
import { allPlugins } from './plugin-store.ts';
import { fullName } from './plugin.ts';

/** Makes the login and gives it what the migrations have made. */
export async function giveTables({ db, log, installation }: TransactionContext, plugin: PluginKey): Promise<void> {
  const { database, isSuperuser, mayMakeRoles } = await roleRights(db);
  if (!mayMakeRoles) return log.warn('plugin.no_login', { plugin: fullName(plugin), message: NO_ROLES });
  const login = pluginLogin({ database, secret: installation.secret }, plugin);
  await ensureRole(db, login, scramVerifier(login.password));
  const own = (await ownedObjects(db)).find((each) => each.vendor === plugin.vendor && each.plugin === plugin.name);
  await giveObjects(db, login, { objects: own?.objects ?? [], isSuperuser });
}

/**
 * Makes the logins of active plugins whose tables do not belong to theirs: the database was restored or copied, and roles are in no backup.
 * To be called at the start of a process. A failure is logged; that plugin cannot use its tables.
 */
export async function giveRestoredTables(ctx: Context): Promise<void> {
  const owned = new Map(
    (await ownedObjects(ctx.database)).map((each) => [`${each.vendor}/${each.plugin}`, each.objects]),
  );
  for (const plugin of await allPlugins(ctx.database)) {
    const objects = owned.get(fullName(plugin)) ?? [];
    if (plugin.status !== 'active' || !plugin.granted?.tables || objects.length === 0) continue;
    await giveOnce(ctx, plugin, objects).catch((error: unknown) =>
      ctx.log.error('plugin.no_login', { plugin: fullName(plugin), message: messageOf(error) }),
    );
  }
}

function giveOnce(ctx: Context, plugin: PluginKey, objects: readonly string[]): Promise<void> {
  return ctx.database.transaction(async (tx) => {
    // Roles belong to the whole server: two processes that start at once would change the same one.
    await lockUntilCommit(tx, 'mailwright:plugin-logins');
    const { database } = await roleRights(tx);
    const login = pluginLogin({ database, secret: ctx.installation.secret }, plugin);
    if (!(await belongTo(tx, objects, login))) await giveTables({ ...ctx, db: tx, tx }, plugin);
  });
}

/** Drops the login after the tables are gone. */
export async function dropLogin({ db, installation }: TransactionContext, plugin: PluginKey): Promise<void> {
  const { database, mayMakeRoles } = await roleRights(db);
  if (mayMakeRoles) await dropRole(db, pluginLogin({ database, secret: installation.secret }, plugin));
}

const NO_ROLES =
  'The user of DATABASE_URL may not make roles, so the plugin cannot use its tables. Give it the attribute CREATEROLE and make it the owner of the database, then activate the plugin again.';
