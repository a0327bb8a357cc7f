/** The audit trail: a customer reads its own, an administrator everybody's. Nothing here changes it. */
import { auditPage, countAuditEvents, type AuditEvent } from '../../domain/accounts/audit-read-model.ts';
import { knownCustomer } from '../../domain/accounts/known-customer.ts';
import { holdsScope } from '../../domain/accounts/scopes.ts';
import { viewerOf } from '../../domain/context.ts';
import { ForbiddenError } from '../../lib/errors.ts';
import { builder } from '../builder.ts';
import { ApiTokenKind, EntryPoint } from '../enums.ts';
import type { GraphqlContext } from '../context.ts';
import { forwardConnection } from '../key-connection.ts';
import { COUNTED_MAX } from '../limits.ts';

const AuditEventType = builder.objectRef<AuditEvent>('AuditEvent').implement({
  description:
    'Something that was changed, or a try to get in that failed: by whom, when, from where. What was given is not kept, only its names.',
  authScopes: { scope: 'account:read' },
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime' }),
    customerUid: t.exposeString('customerUid', { nullable: true, description: 'The customer whose data was changed.' }),
    operation: t.exposeString('operation', {
      description: 'The name of the GraphQL mutation, also for a REST request.',
    }),
    targetUid: t.exposeString('targetUid', { nullable: true }),
    fields: t.stringList({ resolve: ({ fields }) => [...fields], description: 'Names of the fields that were given.' }),
    entryPoint: t.expose('entryPoint', { type: EntryPoint, description: '`graphql`, `rest` or `page`.' }),
    ipAddress: t.exposeString('ipAddress', { nullable: true }),
    client: t.exposeString('client', {
      nullable: true,
      description: "The kind of the caller's program, as it says: `Firefox on Linux`.",
    }),
    failure: t.exposeString('failure', {
      nullable: true,
      description: 'Null: it succeeded. Otherwise why the login was refused, such as `WRONG_CREDENTIALS`.',
    }),
    userUid: t.exposeString('userUid', { nullable: true }),
    userEmail: t.exposeString('userEmail', { nullable: true, description: "The user's address now." }),
    tokenUid: t.exposeString('tokenUid', {
      nullable: true,
      description: 'The uid of the token or session that was used.',
    }),
    tokenKind: t.expose('tokenKind', { type: ApiTokenKind, nullable: true }),
    plugin: t.exposeString('plugin', { nullable: true, description: 'The plugin that did it, `vendor/name`.' }),
    isByOperator: t.exposeBoolean('isByOperator', {
      description: 'Done by an administrator of the installation; who and from where, only administrators see.',
    }),
  }),
});

builder.queryField('auditEvents', (t) =>
  t.connection(
    {
      type: AuditEventType,
      description: `What was changed, the newest first: of the own customer; of all, or of one, for administrators. Forward only. \`totalCount\` counts up to ${COUNTED_MAX} of them.`,
      authScopes: { scope: 'account:read' },
      args: {
        customerUid: t.arg.string({ description: 'For administrators.' }),
        everybody: t.arg.boolean({ description: 'For administrators: of all customers.' }),
      },
      resolve: async (_root, args, ctx) => {
        const customerId = await whose(ctx, args);
        return forwardConnection(args, {
          find: ({ after, limit }) => auditPage(ctx.db, { customerId, beforeId: after ?? null, limit }),
          count: () => countAuditEvents(ctx.db, { customerId, max: COUNTED_MAX }),
          idOf: ({ id }) => id,
        });
      },
    },
    { name: 'AuditEventConnection' },
    { name: 'AuditEventEdge' },
  ),
);

interface Whose {
  readonly customerUid?: string | null | undefined;
  readonly everybody?: boolean | null | undefined;
}

/** Null: of all customers. */
async function whose(ctx: GraphqlContext, { customerUid, everybody }: Whose): Promise<bigint | null> {
  const viewer = viewerOf(ctx);
  if (!customerUid && !everybody) return viewer.customerId;
  if (!viewer.isAdmin || !holdsScope(viewer.scopes, 'admin'))
    throw new ForbiddenError('FORBIDDEN', "Only an administrator reads others' trails.");
  return customerUid ? (await knownCustomer(ctx, customerUid)).id : null;
}
