/** Deactivating a plugin: its hooks are taken back in all processes; folder, tables and settings stay. */
import { notify } from '../../db/listen.ts';
import { recordEvents } from '../../events/event-store.ts';
import { auditInTransaction } from '../accounts/audit-trail.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import type { PluginKey } from '../plugin-host.ts';
import { knownPlugin } from './find-plugin.ts';
import { followPluginsOnce } from './follow-plugins.ts';
import { markInactive } from './plugin-store.ts';
import { fullName, PLUGINS_CHANNEL, type Plugin } from './plugin.ts';

/** Deactivates it; repeating it is harmless. What runs ends as it began. Throws NotFoundError `PLUGIN_NOT_FOUND`. */
export async function deactivatePlugin(ctx: Context, key: PluginKey): Promise<Plugin> {
  const { customerId } = viewerOf(ctx);
  const plugin = await inTransaction(ctx, async (inner) => {
    const active = await knownPlugin(inner, key, true);
    if (active.status === 'active') {
      await markInactive(inner.db, active);
      const data = { version: active.version };
      await recordEvents(inner.db, [{ kind: 'plugin_deactivated', customerId: null, objectUid: fullName(key), data }]);
    }
    await notify(inner.db, PLUGINS_CHANNEL, '');
    await auditInTransaction(inner, { customerId, targetUid: fullName(key) });
    return knownPlugin(inner, key);
  });
  await followPluginsOnce(ctx);
  return plugin;
}
