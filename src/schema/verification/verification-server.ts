/** A verification server as its owner sees it, without the credentials, which are not read; and one that a customer may use. */
import { missingVerifier } from '../../domain/verification/open-verifier.ts';
import type { VerificationServer } from '../../domain/verification/verification-server.ts';
import { builder } from '../builder.ts';
import { ActiveStatus } from '../enums.ts';
import { serverKind } from '../sending-servers/sending-server.ts';

export const EmailVerificationServer = builder.prismaObject('EmailVerificationServer', {
  description: 'A verifier and its settings: it says of addresses whether mail to them can arrive.',
  authScopes: { scope: 'sending-servers:read' },
  fields: (t) => ({
    uid: t.exposeString('uid'),
    type: t.exposeString('type'),
    name: t.exposeString('name'),
    settings: t.expose('settings', {
      type: 'JsonObject',
      description: 'Without credentials: those are never answered.',
    }),
    isSystem: t.exposeBoolean('isSystem', { description: 'It serves the customers whose plans give it.' }),
    perMinuteMax: t.exposeInt('perMinuteMax', {
      nullable: true,
      description: 'Addresses a minute, over all runs; null: as many as the verifier allows.',
    }),
    status: t.expose('status', {
      type: ActiveStatus,
      description: '`active` or `inactive`; nothing is verified by an inactive one.',
    }),
    fault: t.string({
      nullable: true,
      description: 'Why it verifies nothing: no active plugin provides its type; null: one does.',
      resolve: ({ type }, _args, ctx) => missingVerifier(ctx.hooks, type),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});

export const EmailVerificationServerType = serverKind(
  'EmailVerificationServerType',
  'A kind of verification server that can be created: a verifier that a plugin provides.',
);

export const UsableVerificationServer = builder
  .objectRef<Pick<VerificationServer, 'uid' | 'name' | 'type' | 'isSystem'>>('UsableVerificationServer')
  .implement({
    description: 'A verification server that the customer may use: its own, or one of the system.',
    authScopes: { scope: 'subscribers:read' },
    fields: (t) => ({
      uid: t.exposeString('uid'),
      name: t.exposeString('name'),
      type: t.exposeString('type'),
      isSystem: t.exposeBoolean('isSystem'),
    }),
  });
