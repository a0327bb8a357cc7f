/** The hook bus of this process, the folders and the code of its plugins, and what Mailwright does for them. Nothing is loaded here. */
import path from 'node:path';
import type { Settings } from '../config/settings.ts';
import type { Notifications } from '../db/listen.ts';
import type { AuditTrail } from '../domain/accounts/audit-trail.ts';
import type { Context } from '../domain/context.ts';
import { checkMailTemplates } from '../domain/content/check-mail-templates.ts';
import { reportFilterFaults, useLiquidFilters } from '../domain/content/liquid-thread.ts';
import { followPlugins, type FollowedPlugins } from '../domain/plugins/follow-plugins.ts';
import type { Log } from '../lib/log.ts';
import { FaultCounts } from '../plugin-host/fault-counts.ts';
import { createHookBus, type HookBus } from '../plugin-host/hook-bus.ts';
import { ProcessPlugins } from '../plugin-host/plugin-host.ts';
import { asMailwright } from '../plugin-host/running-plugin.ts';
import { loadOperations } from './plugin-graphql.ts';
import { createPluginServices } from './plugin-services.ts';
import type { Operations } from './service-owner.ts';

export interface OpenPlugins {
  readonly hooks: HookBus;
  readonly plugins: ProcessPlugins;
  /** Makes the active plugins live in this process, and keeps it so. */
  follow(ctx: Context, means: { audit: AuditTrail; notifications: Notifications }): Promise<FollowedPlugins>;
  /** The GraphQL server of a process that serves requests: plugins' operations wait for it. */
  serve<Server extends Operations>(server: Server): Server;
}

const BUNDLED = path.join(import.meta.dirname, '..', '..', 'plugins');

/** `faults`: where those are counted that nobody has caught. */
export function openPlugins(
  { DATA_DIR, SAFE_MODE, ROLES }: Settings,
  log: Log,
  faults = new FaultCounts(),
): OpenPlugins {
  const services = createPluginServices(log);
  const hooks = createHookBus(log, { servicesOf: services.of, faults });
  hooks.check(checkMailTemplates);
  reportFilterFaults((plugin) => faults.add({ plugin, hook: 'liquid_filter', failed: 1, late: 0 }));
  hooks.onChange(() =>
    useLiquidFilters(hooks.owned('liquid_filter').map(({ plugin, value }) => ({ plugin, ...value }))),
  );
  const places = { bundled: BUNDLED, installed: path.resolve(DATA_DIR, 'plugins') };
  const served = Promise.withResolvers<Operations>();
  return {
    hooks,
    plugins: new ProcessPlugins({ bus: hooks, places, isSafeMode: SAFE_MODE === '1', log }),
    async follow(ctx, means) {
      let loading: ReturnType<typeof loadOperations> | undefined;
      // Seconds of Mailwright's own work: the plugin that needs it first does not hold the event loop.
      const load = () => (loading ??= asMailwright(() => loadOperations(ctx, means)));
      services.connect({ ...ctx, operations: () => (ROLES.includes('web') ? served.promise : load()) });
      const followed = await followPlugins(ctx, means.notifications);
      return {
        async close() {
          await followed.close();
          services.close();
          await loading?.then((server) => server.close());
        },
      };
    },
    serve(server) {
      served.resolve(server);
      return server;
    },
  };
}
