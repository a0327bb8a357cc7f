/**
 * What Mailwright does for its plugins, put together for each of them: `services`, the second argument of `register` and `boot`. A
 * service beside the log works only while the plugin is live in this process, and within the rights of the version that asks.
 */
import { settingsForPlugin } from '../domain/plugins/plugin-settings.ts';
import { translate } from '../domain/plugins/plugin-texts.ts';
import { pluginJobs } from '../domain/plugins/enqueue-plugin-job.ts';
import type { PluginKey } from '../domain/plugin-host.ts';
import type { Log } from '../lib/log.ts';
import { NO_RIGHTS, type PluginRights, type PluginServices } from '../plugin-api/index.ts';
import type { ServicesOf } from '../plugin-host/hook-bus.ts';
import { pluginDatabase } from './plugin-database.ts';
import { openCheckout, saveReference } from '../domain/billing/payments/open-checkout.ts';
import { pluginFetch } from './plugin-fetch.ts';
import { pluginGraphql } from './plugin-graphql.ts';
import type { ServiceOwner, ServiceTools } from './service-owner.ts';

export interface ProcessServices {
  readonly of: ServicesOf;
  /** Must be called before the first plugin goes live. */
  connect(tools: ServiceTools): void;
  close(): void;
}

/** Makes them for the plugins of this process. */
export function createPluginServices(log: Log): ProcessServices {
  let connected: ServiceTools | undefined;
  const ends = new Map<string, Set<() => void>>();
  const isLive = (key: PluginKey) => connected?.plugins?.isLive(key) === true;
  const ownerOf = (plugin: string, rights: PluginRights): ServiceOwner => {
    const [vendor = '', name = ''] = plugin.split('/');
    const key = { vendor, name };
    const use = () => {
      if (connected && isLive(key)) return connected;
      throw new Error(`The plugin "${plugin}" is not active: Mailwright does nothing for it.`);
    };
    const own = ends.get(plugin) ?? new Set();
    ends.set(plugin, own);
    return { plugin, key, rights, use, onEnd: (end) => void own.add(end) };
  };
  const end = (plugin: string) => {
    for (const act of ends.get(plugin) ?? []) act();
  };
  return {
    of: (plugin, rights) => servicesOf(ownerOf(plugin, rights ?? NO_RIGHTS), log),
    connect(tools) {
      connected = tools;
      tools.hooks.onChange(() => {
        for (const plugin of ends.keys()) {
          const [vendor = '', name = ''] = plugin.split('/');
          if (!isLive({ vendor, name })) end(plugin);
        }
      });
    },
    close: () => [...ends.keys()].forEach(end),
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
    graphql: pluginGraphql(owner),
    database: pluginDatabase(owner),
    fetch: pluginFetch(owner),
    payments: {
      openCheckout: async (token) => openCheckout(use(), plugin, token),
      saveReference: async (intentUid, reference) => saveReference(use(), plugin, { intentUid, reference }),
    },
  };
}
