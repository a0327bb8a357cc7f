/** A customer's part in the rights of plugins: it sees which may act for customers, and switches them on and off for itself. */
import { notify } from '../../db/listen.ts';
import { parseInput } from '../../lib/text.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { auditInTransaction } from '../accounts/audit-trail.ts';
import type { PluginKey } from '../plugin-host.ts';
import { offeredPlugins, switchOff, switchOn, type OfferedPlugin } from './plugin-customer-store.ts';
import { onlyPeopleSwitch, pluginNotFound } from './plugin-errors.ts';
import { readCustomers } from './read-customers.ts';
import { fullName, PLUGIN_CUSTOMERS_CHANNEL, pluginKeyInput } from './plugin.ts';

/** Active plugins that may act for customers, by vendor and name. */
export function pluginsOffered(ctx: Context): Promise<readonly OfferedPlugin[]> {
  return offeredPlugins(ctx.db, viewerOf(ctx).customerId);
}

/** Lets the plugin act for the customer; repeating it is harmless. Throws NotFoundError `PLUGIN_NOT_FOUND` when it is not offered. */
export function switchPluginOn(ctx: Context, key: PluginKey): Promise<OfferedPlugin> {
  return change(ctx, key, (inner) => switchOn(inner.db, viewerOf(ctx).customerId, key));
}

/** Ends that. A plugin that acts for all customers cannot be switched off by one. Throws as `switchPluginOn`. */
export function switchPluginOff(ctx: Context, key: PluginKey): Promise<OfferedPlugin> {
  return change(ctx, key, (inner) => switchOff(inner.db, viewerOf(ctx).customerId, key));
}

async function change(ctx: Context, key: PluginKey, act: (inner: Context) => Promise<void>): Promise<OfferedPlugin> {
  parseInput(pluginKeyInput, key);
  const { customerId, plugin } = viewerOf(ctx);
  if (plugin !== undefined) throw onlyPeopleSwitch();
  const changed = await inTransaction(ctx, async (inner) => {
    await offered(inner, customerId, key);
    await act(inner);
    await notify(inner.db, PLUGIN_CUSTOMERS_CHANNEL, '');
    await auditInTransaction(inner, { customerId, targetUid: fullName(key) });
    return offered(inner, customerId, key);
  });
  // The other processes are notified.
  await readCustomers(ctx);
  return changed;
}

async function offered({ db }: Context, customerId: bigint, key: PluginKey): Promise<OfferedPlugin> {
  const found = (await offeredPlugins(db, customerId)).find((each) => fullName(each) === fullName(key));
  if (!found) throw pluginNotFound();
  return found;
}
