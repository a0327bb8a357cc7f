/** A plugin as the caller of an operation: it acts for one customer, with its own scopes and under its own name. */
import type { Queryable } from '../../db/database.ts';
import type { PluginRights } from '../../plugin-api/index.ts';
import { isUid } from '../../lib/ids.ts';
import type { Viewer } from '../context.ts';
import type { PluginKey } from '../plugin-host.ts';
import { findActingFor } from './plugin-customer-store.ts';
import { switchedOffText } from './plugin-errors.ts';
import { fullName } from './plugin.ts';

export interface ActingPlugin {
  readonly key: PluginKey;
  readonly rights: PluginRights;
  readonly customerUid: string;
}

/** Throws an Error with a sentence for the plugin's author when the plugin may not act for this customer. */
export async function pluginViewer(
  { db, isInMaintenance }: { readonly db: Queryable; readonly isInMaintenance: boolean },
  { key, rights, customerUid }: ActingPlugin,
): Promise<Viewer> {
  const plugin = fullName(key);
  const found = isUid(customerUid) ? await findActingFor(db, customerUid, key) : undefined;
  if (!found) throw new Error('There is no active customer with this uid.');
  if (!found.isActive) throw new Error(`The plugin "${plugin}" is not active: Mailwright does nothing for it.`);
  if (rights.customers !== 'all' && !found.isSwitchedOn) throw new Error(switchedOffText(plugin));
  return {
    ...{ plugin, customerId: found.customerId, tokenKind: 'plugin', isAdmin: rights.scopes.includes('admin') },
    ...{ userId: 0n, userUid: '', tokenId: 0n, tokenUid: '' },
    ...(isInMaintenance ? { refusal: 'maintenance', scopes: [] } : { scopes: rights.scopes }),
  };
}
