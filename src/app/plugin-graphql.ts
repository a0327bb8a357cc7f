/**
 * GraphQL operations of plugins. A process that serves requests uses its server. Any other one loads the schema when a plugin runs the
 * first operation: that takes some seconds and 120 MB.
 */
import type { Notifications } from '../db/listen.ts';
import { REQUEST_LIMITS } from '../db/work-limits.ts';
import type { AuditTrail } from '../domain/accounts/audit-trail.ts';
import type { Context } from '../domain/context.ts';
import type { RunGraphql } from '../plugin-api/index.ts';
import type { GraphqlServer } from '../schema/graphql-server.ts';
import type { ServiceOwner } from './service-owner.ts';

/** For operations of plugins in a process without requests. */
const CONNECTIONS = 4;

export function pluginGraphql({ plugin, key, rights, use }: ServiceOwner): RunGraphql {
  return async (document, variables, options) => {
    const { operations } = use();
    if (rights.scopes.length === 0)
      throw new Error(`The plugin "${plugin}" may not use GraphQL: its manifest names no "scopes".`);
    const { executeForPlugin } = await operations();
    // Loading may have taken a while.
    use();
    return executeForPlugin({
      ...{ plugin: key, rights, document, variables: { ...variables } },
      customerUid: options.customerUid,
    });
  };
}

/** Loads the schema and Prisma. */
export async function loadOperations(
  ctx: Context,
  { audit, notifications }: { readonly audit: AuditTrail; readonly notifications: Notifications },
): Promise<GraphqlServer> {
  const [{ createGraphqlServer }, { openPrisma }] = await Promise.all([
    import('../schema/graphql-server.ts'),
    import('../db/prisma.ts'),
  ]);
  const database = ctx.database.besides({
    ...{ poolSize: CONNECTIONS, applicationName: 'mailwright-plugins', limits: REQUEST_LIMITS },
  });
  const means = { ...ctx, db: database, database, audit, notifications, prisma: openPrisma(database) };
  return createGraphqlServer({ means, explorer: false });
}
