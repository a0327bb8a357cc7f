/** What every resolver gets: the domain's context, so that it can be handed to a verb as it is, and what only reading needs. */
import type { Notifications } from '../db/listen.ts';
import type { Prisma } from '../db/prisma.ts';
import type { RestDialect } from '../domain/accounts/api-token-store.ts';
import type { AuditTrail } from '../domain/accounts/audit-trail.ts';
import type { Change, Context } from '../domain/context.ts';
import { assert } from '../lib/errors.ts';

/** By which entry point the operation came. It decides one thing only: how a foreign uid is answered. */
export type EntryPoint = 'graphql' | 'rest';

export interface GraphqlContext extends Context {
  /** For reading; writes are verbs of the domain. */
  readonly prisma: Prisma;
  /** LISTEN/NOTIFY, for subscriptions. */
  readonly notifications: Notifications;
  /** Where every mutation is noted. */
  readonly audit: AuditTrail;
  readonly entryPoint: EntryPoint;
  readonly change: Change;
  /** The token's own REST dialect, or null. */
  readonly restDialect: RestDialect | null;
  /** How often a limited field (`executionsMax`) ran in this request. */
  readonly executions: Map<string, number>;
}

/** The context as ours: for code that is written for any context, such as a plugin of Pothos. */
export function graphqlContext(context: unknown): GraphqlContext {
  assert(isGraphqlContext(context), 'a resolver ran without the context that request-context.ts makes');
  return context;
}

/** The same caller, with nothing remembered: loaders and rights are kept per context object. */
export function freshContext(ctx: GraphqlContext): GraphqlContext {
  return { ...ctx, executions: new Map(), change: { write: undefined } };
}

function isGraphqlContext(context: unknown): context is GraphqlContext {
  return typeof context === 'object' && context !== null && 'executions' in context && 'prisma' in context;
}
