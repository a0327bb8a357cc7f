/** Tells the plugins of this process when their settings have changed. */
import { z } from 'zod';
import type { Notifications } from '../../db/listen.ts';
import { messageOf } from '../../lib/errors.ts';
import type { SettingsChange } from '../../plugin-api/index.ts';
import type { Context } from '../context.ts';
import { PLUGIN_SETTINGS_CHANNEL } from './plugin-settings.ts';

const payloadShape = z.object({ plugin: z.string(), customerUid: z.string().nullable() });

/** Returns how to end it. After a gap in the notifications every plugin with a form is told to read all again. */
export function followPluginSettings(ctx: Context, notifications: Notifications): () => void {
  return notifications.listen(PLUGIN_SETTINGS_CHANNEL, (payload) => {
    try {
      if (payload === null) return announceToAll(ctx);
      const { plugin, customerUid } = payloadShape.parse(JSON.parse(payload));
      announce(ctx, plugin, { of: customerUid === null ? 'installation' : 'customer', customerUid });
    } catch (error) {
      ctx.log.warn('plugins.settings_not_told', { message: messageOf(error) });
    }
  });
}

function announceToAll(ctx: Context): void {
  const plugins = new Set(ctx.hooks.owned('settings_form').map(({ plugin }) => plugin));
  for (const plugin of plugins) announce(ctx, plugin, { of: 'all', customerUid: null });
}

function announce({ hooks }: Context, plugin: string, change: SettingsChange): void {
  const [vendor = '', name = ''] = plugin.split('/');
  // What a listener does wrong is logged and counted with its name.
  void hooks.fire(`settings_changed_${vendor}/${name}`, change);
}
