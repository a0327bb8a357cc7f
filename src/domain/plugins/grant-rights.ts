/**
 * Granting a plugin what its manifest asks for (decision D65). Hooks and tables of its own are granted by activating it; GraphQL scopes, all
 * customers and hosts only if the administrator names them.
 */
import { NO_RIGHTS, rightsBeyond, type PluginRights } from '../../plugin-api/index.ts';
import type { FoundPlugin } from '../plugin-host.ts';
import type { Context } from '../context.ts';
import { hostOf } from './find-plugin.ts';
import { grantNeeded } from './plugin-errors.ts';
import { packageAt } from './plugin-package-store.ts';
import { isOwn, type Plugin } from './plugin.ts';

/** What an administrator agrees to. */
export interface Agreement {
  readonly scopes?: readonly string[] | null | undefined;
  readonly hosts?: readonly string[] | null | undefined;
  readonly browserHosts?: readonly string[] | null | undefined;
  readonly forAllCustomers?: boolean | null | undefined;
}

type Granted = Pick<Plugin, 'granted'>;

/** Whether the folder asks for more than was granted. Its activation needs an agreement, and an active plugin stays as it is until then. */
export function needsNewGrant(plugin: Granted, found: FoundPlugin): boolean {
  return !isOwn(found) && rightsBeyond(plugin.granted ?? impliedRights(found), found.wants) !== undefined;
}

/**
 * What the next activation has to grant beyond what was granted: of the installed version that waits, or else of the folder. Undefined:
 * nothing.
 */
export async function rightsToGrant(ctx: Context, plugin: Plugin): Promise<PluginRights | undefined> {
  if (isOwn(plugin)) return undefined;
  const host = hostOf(ctx);
  const waiting = plugin.waitingVersion === null ? undefined : await packageAt(ctx.db, plugin, 'waiting');
  const wants = waiting ? await host.packages.wantsOf(waiting) : host.found(plugin)?.wants;
  return wants && rightsBeyond(plugin.granted ?? impliedRights({ wants }), wants);
}

/**
 * The rights of the version in the folder: what it asks for, if it was granted before or is agreed to now. Nobody can agree to a part
 * of it. Throws ValidationError `PLUGIN_GRANT_NEEDED` that names what is missing.
 */
export function grantRights(plugin: Granted, found: FoundPlugin, agreement: Agreement): PluginRights {
  if (isOwn(found)) return found.wants;
  const before = plugin.granted ?? NO_RIGHTS;
  const agreed: PluginRights = {
    ...impliedRights(found),
    scopes: [...before.scopes, ...(agreement.scopes ?? [])],
    hosts: [...before.hosts, ...(agreement.hosts ?? [])],
    browserHosts: [...before.browserHosts, ...(agreement.browserHosts ?? [])],
    customers: agreement.forAllCustomers ? 'all' : before.customers,
  };
  const missing = rightsBeyond(agreed, found.wants);
  if (missing) throw grantNeeded(missing);
  return found.wants;
}

/** What the act of activating grants. */
function impliedRights({ wants: { hooks, tables } }: Pick<FoundPlugin, 'wants'>): PluginRights {
  return { ...NO_RIGHTS, hooks, tables };
}
