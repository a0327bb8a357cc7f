/** Looking for plugins on disk: what is found gets a row, `inactive`; one with faults is shown with its fault. */
import type { Context } from '../context.ts';
import { notify } from '../../db/listen.ts';
import type { FoundPlugin, PluginKey } from '../plugin-host.ts';
import { hostOf } from './find-plugin.ts';
import { allPlugins, deleteDeleting, storeFound } from './plugin-store.ts';
import { syncPackages } from './sync-packages.ts';
import { fullName, PLUGINS_CHANNEL } from './plugin.ts';

/** Reads all folders and stores what is there. Safe at any time, in all processes at once. */
export async function discoverPlugins(ctx: Context): Promise<readonly FoundPlugin[]> {
  const known = await allPlugins(ctx.database);
  for (const plugin of known) if (plugin.status === 'deleting') await finishDeletion(ctx, plugin);
  await syncPackages(ctx);
  const switchedOff = known.filter(({ switchedOffAt }) => switchedOffAt !== null).map(fullName);
  const found = await hostOf(ctx).discover(new Set(switchedOff));
  let changes = 0;
  for (const plugin of found) changes += Number(await storeFound(ctx.database, plugin));
  if (changes > 0) await notify(ctx.database, PLUGINS_CHANNEL, '');
  return found;
}

/** Removes the folder of a deleted plugin, then its row. */
export async function finishDeletion(ctx: Context, { vendor, name }: PluginKey): Promise<void> {
  await hostOf(ctx).removeFolder({ vendor, name });
  await deleteDeleting(ctx.database, { vendor, name });
}
