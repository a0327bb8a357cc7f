/** A sending server as its owner sees it, without the credentials, which are not read. */
import { holdsScope } from '../../domain/accounts/scopes.ts';
import { viewerOf } from '../../domain/context.ts';
import { serverFault } from '../../domain/sending/server-fault.ts';
import { webhookAddressOf } from '../../domain/sending/webhook-servers.ts';
import type { SenderRule } from '../../plugin-api/index.ts';
import { builder } from '../builder.ts';
import { ActiveStatus, QuotaUnit } from '../enums.ts';

export const SendingServer = builder.prismaObject('SendingServer', {
  authScopes: { scope: 'sending-servers:read' },
  fields: (t) => ({
    uid: t.exposeString('uid'),
    name: t.exposeString('name'),
    type: t.exposeString('type'),
    settings: t.expose('settings', {
      type: 'JsonObject',
      description: 'Without credentials: those are never answered.',
    }),
    isSystem: t.exposeBoolean('isSystem'),
    isDevelopment: t.exposeBoolean('isDevelopment'),
    defaultFromEmail: t.exposeString('defaultFromEmail'),
    connectionsMax: t.exposeInt('connectionsMax', {
      description: 'The largest number of connections, over all processes: its setting, or 20. See `connectionsNow`.',
    }),
    quotaValue: t.exposeInt('quotaValue', { nullable: true }),
    quotaBase: t.exposeInt('quotaBase', { nullable: true }),
    quotaUnit: t.expose('quotaUnit', { type: QuotaUnit, nullable: true }),
    status: t.expose('status', {
      type: ActiveStatus,
      description: '`active` or `inactive`; nothing is sent through an inactive one.',
    }),
    fault: t.string({
      nullable: true,
      description:
        'Why nothing can be sent through it: no active plugin provides its type, or the operator does not allow its program; null: nothing is wrong.',
      resolve: (server, _args, ctx) => serverFault(ctx, server),
    }),
    webhookUrl: t.string({
      nullable: true,
      description:
        'The address to enter at the vendor, which reports bounces and complaints there. It may contain a secret, so only who may change servers sees it. Null: this type takes no reports.',
      select: { uid: true, type: true, settings: true, sealedSettings: true },
      resolve: (server, _args, ctx) =>
        holdsScope(viewerOf(ctx).scopes, 'sending-servers:write') ? webhookAddressOf(ctx, server) : null,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});

/** A driver or a verifier, as whoever makes a server needs to know it. */
interface ServerKind {
  readonly type: string;
  readonly name: string;
  readonly description: string;
  readonly configKeys: readonly string[];
  readonly secretKeys: readonly string[];
  readonly webhook?: object | undefined;
  readonly identities?: object | undefined;
  readonly idempotencyKeySeconds?: number | undefined;
  readonly sendsParts?: boolean | undefined;
  readonly signsDkim?: boolean | undefined;
  readonly replacesReturnPath?: boolean | undefined;
  readonly senders?: SenderRule | undefined;
  readonly iconUrl?: string | undefined;
  readonly color?: string | undefined;
  readonly createUrl?: string | undefined;
  readonly programKeys?: readonly string[];
}

/** The type of a kind of servers that can be created. */
export function serverKind(name: string, description: string) {
  return builder.objectRef<ServerKind>(name).implement({
    description,
    authScopes: { scope: 'sending-servers:read' },
    fields: (t) => ({
      type: t.exposeString('type'),
      name: t.exposeString('name'),
      description: t.exposeString('description'),
      configKeys: t.stringList({
        description: 'Keys of its settings, in the order in which a form shows them.',
        resolve: ({ configKeys }) => [...configKeys],
      }),
      secretKeys: t.stringList({
        description: 'The keys whose values are credentials.',
        resolve: ({ secretKeys }) => [...secretKeys],
      }),
    }),
  });
}

export const SendingServerType = serverKind(
  'SendingServerType',
  'A kind of sending server that can be created: a driver that a plugin provides.',
);

/** What the vendor of a type can do, and what not. */
builder.objectFields(SendingServerType, (t) => ({
  iconUrl: t.exposeString('iconUrl', { nullable: true, description: 'A picture of the type; null: none.' }),
  color: t.exposeString('color', { nullable: true, description: 'A colour such as `#3366ff`; null: none.' }),
  createUrl: t.string({
    description: 'The page that makes such a server.',
    resolve: ({ createUrl, type }) => createUrl ?? `/sending_servers/create/${type}`,
  }),
  takesReports: t.boolean({
    description: 'Whether its vendor reports bounces and complaints to `SendingServer.webhookUrl`.',
    resolve: ({ webhook }) => webhook !== undefined,
  }),
  showsSenders: t.boolean({
    description: 'Whether `sendingServerIdentities` shows the senders of the account.',
    resolve: ({ identities }) => identities !== undefined,
  }),
  recognisesRepeats: t.boolean({
    description:
      'Whether the vendor recognises a repeated message. If not, a message with an unknown outcome could arrive twice when it is sent again.',
    resolve: ({ idempotencyKeySeconds }) => idempotencyKeySeconds !== undefined,
  }),
  composesMessages: t.boolean({
    description:
      'Whether the vendor composes the message anew from its parts, so that not every header of ours arrives.',
    resolve: ({ sendsParts }) => sendsParts === true,
  }),
  signsDkim: t.boolean({
    description: 'Whether the vendor signs with DKIM, and not this installation.',
    resolve: ({ signsDkim }) => signsDkim === true,
  }),
  isSystemOnly: t.boolean({
    description: 'Whether only an administrator can create one, because it runs a program of this machine.',
    resolve: ({ programKeys = [] }) => programKeys.length > 0,
  }),
}));
