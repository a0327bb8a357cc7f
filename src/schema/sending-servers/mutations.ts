/** Changing sending servers. */
import { createSendingServer } from '../../domain/sending/create-sending-server.ts';
import { deleteSendingServer } from '../../domain/sending/delete-sending-server.ts';
import { updateSendingServer } from '../../domain/sending/update-sending-server.ts';
import { builder } from '../builder.ts';
import { SendingServer } from './sending-server.ts';

const writing = { scope: 'sending-servers:write' } as const;
const QUOTA = 'Messages in `quotaBase` `quotaUnit`s, at most; -1 or null: no limit.';
const UNIT = '`second`, `minute`, `hour`, `day` or `month`.';

builder.mutationField('createSendingServer', (t) =>
  t.prismaFieldWithInput({
    type: SendingServer,
    description:
      "Tries the settings, then stores the server. Made by an administrator it is the system's. Errors of settings are named `settings.<key>`, a failed connection `connection`.",
    authScopes: writing,
    errors: {},
    input: {
      name: t.input.string({ required: true }),
      type: t.input.string({ required: true, description: 'One of `sendingServerTypes`.' }),
      settings: t.input.field({ type: 'JsonObject', required: true }),
      defaultFromEmail: t.input.string(),
      quotaValue: t.input.int({ description: QUOTA }),
      quotaBase: t.input.int(),
      quotaUnit: t.input.string({ description: UNIT }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const { customerId, id } = await createSendingServer(ctx, input);
      return ctx.prisma.sendingServer.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.mutationField('updateSendingServer', (t) =>
  t.prismaFieldWithInput({
    type: SendingServer,
    description: 'Changes what is given. Settings that are not given keep their values; changed ones are tried first.',
    authScopes: writing,
    errors: {},
    input: {
      uid: t.input.string({ required: true }),
      name: t.input.string(),
      type: t.input.string({ description: 'Cannot be changed; taken when it is the same.' }),
      settings: t.input.field({ type: 'JsonObject' }),
      defaultFromEmail: t.input.string(),
      quotaValue: t.input.int({ description: QUOTA }),
      quotaBase: t.input.int(),
      quotaUnit: t.input.string({ description: UNIT }),
      status: t.input.string({ description: '`active` or `inactive`.' }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const { customerId, id } = await updateSendingServer(ctx, input);
      return ctx.prisma.sendingServer.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const DeletedSendingServer = builder.objectRef<{ uid: string }>('DeletedSendingServer').implement({
  authScopes: writing,
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

builder.mutationField('deleteSendingServer', (t) =>
  t.field({
    type: DeletedSendingServer,
    description: 'Refused while unfinished campaigns are sent through it; an inactive server has none.',
    authScopes: writing,
    errors: {},
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deleteSendingServer(ctx, { uid }),
  }),
);
