/**
 * What Mailwright does for its plugins, put together for each of them: `services`, the second argument of `register` and `boot`. A
 * service beside the log works only while the plugin is live in this process, and within the rights of the version that asks.
 */
import type { Context } from '../domain/context.ts';
import { settingsForPlugin } from '../domain/plugins/plugin-settings.ts';
import { translate } from '../domain/plugins/plugin-texts.ts';
import { pluginJobs } from '../domain/plugins/enqueue-plugin-job.ts';
import type { Log } from '../lib/log.ts';
import { NO_RIGHTS, type PluginRights, type PluginServices } from '../plugin-api/index.ts';
import type { ServicesOf } from '../plugin-host/hook-bus.ts';

/** Whose services are made. */
export interface ServiceOwner {
  /** `vendor/name`. */
  readonly plugin: string;
  readonly rights: PluginRights;
  /** What the process has. Throws a sentence while the plugin is not live: each call of a service begins with it. */
  readonly use: () => Context;
}

export interface ProcessServices {
  readonly of: ServicesOf;
  /** Must be called before the first plugin goes live. */
  connect(ctx: Context): void;
}

/** Makes them for the plugins of this process. */
export function createPluginServices(log: Log): ProcessServices {
  let connected: Context | undefined;
  const use = (plugin: string): Context => {
    const [vendor = '', name = ''] = plugin.split('/');
    if (!connected?.plugins?.isLive({ vendor, name }))
      throw new Error(`The plugin "${plugin}" is not active: Mailwright does nothing for it.`);
    return connected;
  };
  return {
    of: (plugin, rights) => servicesOf({ plugin, rights: rights ?? NO_RIGHTS, use: () => use(plugin) }, log),
    connect: (ctx) => void (connected = ctx),
  };
}

/** One line for each service; each lives in a file of its own. */
function servicesOf(owner: ServiceOwner, log: Log): PluginServices {
  const { plugin, use } = owner;
  return {
    log: log.with({ plugin }),
    jobs: pluginJobs(plugin, use),
    settings: {
      get: async () => settingsForPlugin(use(), plugin, null),
      getForCustomer: async (uid) => settingsForPlugin(use(), plugin, uid),
    },
    translate: (language, key, values) => translate(use().hooks, { plugin, language, key, values }),
  };
}
