/** The context of every resolver: the domain's context, which can be passed to a verb, and what reading needs. */
import type { Notifications } from '../db/listen.ts';
import type { Prisma } from '../db/prisma.ts';
import type { RestDialect } from '../domain/accounts/api-token-store.ts';
import type { AuditTrail } from '../domain/accounts/audit-trail.ts';
import type { TokenCache } from '../domain/accounts/token-cache.ts';
import type { Change, Context } from '../domain/context.ts';
import { assert } from '../lib/errors.ts';
import type { AnswerMemory } from '../lib/large-answers.ts';

/** The entry point of the operation. It only decides how a foreign uid is answered. */
export type EntryPoint = 'graphql' | 'rest';

export interface GraphqlContext extends Context {
  /** For reading; writes are verbs of the domain. */
  readonly prisma: Prisma;
  /** LISTEN/NOTIFY, for subscriptions. */
  readonly notifications: Notifications;
  /** Records every mutation. */
  readonly audit: AuditTrail;
  /** The tokens that this process remembers. */
  readonly tokens: TokenCache;
  readonly entryPoint: EntryPoint;
  readonly change: Change;
  /** The token's own REST dialect, or null. */
  readonly restDialect: RestDialect | null;
  /** Sets a cookie with the answer; absent where there is no answer of its own, as on a websocket. */
  readonly setCookie?: ((cookie: string) => void) | undefined;
  /** The memory of the answer's content; absent where nothing waits for its reader, as for an event. */
  readonly answer?: AnswerMemory | undefined;
  /** How often a limited field (`executionsMax`) ran in this request. */
  readonly executions: Map<string, number>;
}

/** The context with our type, for code that gets any context, such as a Pothos plugin. */
export function graphqlContext(context: unknown): GraphqlContext {
  assert(isGraphqlContext(context), 'a resolver ran without the context that request-context.ts makes');
  return context;
}

/** A context of the same caller without caches: loaders and rights are kept per context object. */
export function freshContext(ctx: GraphqlContext): GraphqlContext {
  return { ...ctx, executions: new Map(), change: { write: undefined } };
}

function isGraphqlContext(context: unknown): context is GraphqlContext {
  return typeof context === 'object' && context !== null && 'executions' in context && 'prisma' in context;
}
