/**
 * A plugin's tables belong to a database login of its own, which can use nothing else. It is made and kept right by each activation, and
 * dropped with the data. Where the user of DATABASE_URL may not make roles there is no login, and the plugin cannot use its tables.
 */
import type { TransactionContext } from '../context.ts';
import type { PluginKey } from '../plugin-host.ts';
import { pluginLogin, scramVerifier } from './plugin-login.ts';
import { ownedObjects } from './plugin-migration-store.ts';
import { dropRole, ensureRole, giveObjects, roleRights } from './plugin-role-store.ts';
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

/** Drops the login after the tables are gone. */
export async function dropLogin({ db, installation }: TransactionContext, plugin: PluginKey): Promise<void> {
  const { database, mayMakeRoles } = await roleRights(db);
  if (mayMakeRoles) await dropRole(db, pluginLogin({ database, secret: installation.secret }, plugin));
}

const NO_ROLES =
  'The user of DATABASE_URL may not make roles, so the plugin cannot use its tables. Give it the attribute CREATEROLE and make it the owner of the database, then activate the plugin again.';
