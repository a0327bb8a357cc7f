/** The row of the audit trail for what somebody lets a plugin do in the browser: who, by which plugin, where. Nothing of what was sent. */
import { insertAuditEntries } from '../../domain/accounts/audit-store.ts';
import type { Viewer } from '../../domain/context.ts';
import { programOf } from '../../lib/user-agent.ts';
import type { PluginRequest } from './plugin-request.ts';

export interface NotedCall {
  readonly viewer: Viewer;
  readonly operation: 'submitPluginPage' | 'callPluginRoute';
  /** The name of the page, or the method and the pattern of the route. */
  readonly place: string;
}

/** Written before the plugin is called: nobody else knows what it changes, also when it fails. */
export async function noteCall({ ctx, req, caller, plugin }: PluginRequest, call: NotedCall): Promise<void> {
  const { viewer, operation, place } = call;
  await insertAuditEntries(ctx.db, [
    {
      ...{ customerId: viewer.customerId, actor: viewer, operation, targetUid: plugin.name, fields: [place] },
      ...{ entryPoint: 'page', ipAddress: caller.ipAddress === '' ? null : caller.ipAddress },
      client: programOf(req.headers['user-agent']),
    },
  ]);
}
